"""What an operator sees first, what is changed by mouse (the home, forms, the month's run, budgets), and why a bill grew. One
browser for all."""
from pages import main

main("cases_budget", "cases_changes", "cases_fleet", "cases_run", "cases_why")
