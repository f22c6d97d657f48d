"""What many exact solves make possible: paths over w, tests, alternatives, sets of rules, groups."""
