"""A user's own texts: files, columns, marks of people, and where words begin and end."""
