"""Vector mathematics, emitted inline: one file per family of functions, no calls to a libm."""
