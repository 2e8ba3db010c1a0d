"""What people start: problem files, decisions about them, reports, the command line."""
