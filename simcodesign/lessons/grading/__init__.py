"""Questions and their marks: parameters of a student's code, exam files, answers, marks, and what teachers change."""
