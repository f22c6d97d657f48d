"""Pictures of rules, structures and searches, drawn with matplotlib."""
