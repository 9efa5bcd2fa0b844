"""Rules of a phase."""

from __future__ import annotations

from agnesi.rewrite.rules import Book

BOOK = Book()
