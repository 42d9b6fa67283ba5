"""One account's pages: signing in and out, addresses, a server that goes away, the keyboard alone, weight, and numbers that are
the API's. One browser and one server for all."""
from pages import main

main("cases_console", "cases_face", "cases_meters", "cases_truth")
