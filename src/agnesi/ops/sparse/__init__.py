"""Operations on compressed rows: products with dense matrices, and what changes their patterns."""
