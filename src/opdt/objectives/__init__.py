"""What a rule is to be best in."""
