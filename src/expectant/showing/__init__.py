"""Results for people: names, tables, pictures."""
