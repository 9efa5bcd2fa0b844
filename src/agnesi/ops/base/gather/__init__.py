"""Elements at indices: read, written and added up, by whole rows where they lie so."""
