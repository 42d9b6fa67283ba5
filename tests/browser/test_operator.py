"""What an operator sees first, and what is changed by mouse: the home, forms, the month's run. One browser for all."""
from pages import main

main("cases_changes", "cases_fleet", "cases_run")
