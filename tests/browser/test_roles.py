"""The views of every role, as people look at them and as they work with them; and the tools of these tests. One browser for all."""
from pages import main

main("cases_views", "cases_keys", "cases_billing", "cases_operator", "cases_tools", "cases_plain", "cases_logs", "cases_check")
