"""What variables are made with: their tags, and the dtypes that operands are joined by."""
