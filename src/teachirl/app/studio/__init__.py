"""The studio: a teacher's desk in the browser, and lessons for people. It needs the extra `studio`.

The server only listens, keeps and passes on. What is computed at once is in a process of its own
(`thinker`), and each piece of long work in another (`work`); pages are hand-written files in
`page/` and ask for nothing from elsewhere.
"""
