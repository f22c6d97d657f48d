"""What many exact solves make possible: paths over w, tests, alternatives, rule sets, groups."""
