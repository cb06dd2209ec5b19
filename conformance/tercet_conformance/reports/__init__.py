"""Reports of a check beside the terminal's: a JSON document, JUnit XML, Markdown for a pull request."""
