"""The store's unit tests on ClickHouse: the same programs as for the file, with the usage of their stores on two servers, in a
database of each store's own (tests/unit/usage_plane.h). What is left out here is refused there, or is about the file.

Some take fewer batches here than they do of the file (usage_plane_part), and a few are left out. TB_LONG=1: as many of both as there, and all
programs that open a store; but each in its short form: the long one of prop_runs asks servers for more than an hour.
"""
import os
import re
import subprocess
import unittest

from clickhouse import PROGRAM, ClickHouse
from harness import BUILD, PATIENCE, SOURCE
from script import LONG

PROGRAMS = ["prop_runs", "test_invoice_usage", "test_meter_feed", "test_store_bill_input", "test_store_late", "test_store_query", "test_store_usage",
            "test_store_verify", "test_withdraw"]
MORE = ["prop_correct", "test_alerts", "test_book_operations", "test_containers", "test_feed", "test_feed_cloud", "test_feed_logs", "test_feed_parse", "test_forget",
        "test_ledger_verify", "test_operations", "test_store_audit", "test_store_backup", "test_store_books",
        "test_store_catalogue", "test_store_events", "test_store_invoices", "test_store_ledger", "test_store_logs",
        "test_store_parties", "test_store_rejects", "test_store_runs", "test_store_scenarios", "test_store_shadows",
        "test_store_terms", "test_writer"]

# Each with the tests that it is true of.
LEFT_OUT = {
    "A counter that is full is named with its place by the file; the servers hold 2^63 - 1 of all usage together, and the input is "
    "refused as a whole (TB_E_OVERFLOW).":
        ["a_full_counter_is_named_with_its_place_and_time", "a_batch_that_fails_leaves_nothing_for_the_next"],
    "The tables buckets, balancer_buckets and countries are the file's: a query that names them is refused (TB_E_USAGE).":
        ["buckets_are_the_hours_of_every_location", "buckets_have_a_column_for_each_metric_in_order",
         "balancers_have_buckets_of_their_own", "totals_by_zone_are_the_sums_that_were_added",
         "a_condition_finds_what_reading_every_row_finds", "conditions_on_zone_region_and_order_agree_with_a_plain_copy",
         "conditions_reach_the_table_and_its_order_needs_no_sorting", "countries_are_rows_too", "only_one_reading_statement_is_run",
         "nothing_is_written", "the_reader_may_stop"],
    "It damages the file's own counters.":
        ["a_damaged_chunk_is_an_error_not_an_answer", "damage_of_what_waits_is_an_error_not_an_answer",
         "less_than_is_there_is_never_taken_off", "a_month_that_is_not_the_sum_of_its_hours_is_named", "a_missing_month_is_named",
         "a_zone_that_is_not_the_sum_of_its_locations_is_named", "a_maximum_is_the_larger_not_the_sum",
         "an_account_that_is_not_the_sum_of_its_zones_is_named", "usage_that_no_batch_added_is_found", "a_lost_day_is_found",
         "a_damaged_chunk_is_named_once_and_does_not_hide_the_rest", "a_damaged_month_is_named",
         "hours_past_23_and_days_past_the_month_are_found", "countries_stay_within_the_day", "each_broken_reference_is_named",
         "keys_out_of_order_are_found", "lost_and_moved_countries_are_found"],
    "A list of series that was changed by hand is told by the seal of its table, not by name.":
        ["an_all_locations_series_is_there_exactly_where_needed", "series_of_the_account_and_of_its_zones_go_together"],
    "Blocks lie in the file's own tables, and some at a time go from there; on servers all of an account goes at once.":
        ["few_lines_of_many_zones_wait_together", "many_logs_go_some_at_a_time", "lines_of_many_zones_wait_and_are_found",
         "what_is_folded_goes_with_the_batches_after_it", "a_block_does_not_overtake_what_waits",
         "a_run_goes_when_its_last_line_is_three_days_old", "a_run_that_goes_while_it_is_folded_does_not_come_back",
         "verify_finds_what_was_done_to_a_run", "verify_finds_what_was_done_to_a_block", "damage_is_found",
         "a_window_reaches_what_waits_at_its_ends", "what_is_hardly_joined_any_more_is_folded_soon", "twice_what_comes_is_folded",
         "a_fold_takes_what_may_be_in_memory", "what_is_spent_goes_as_lines_come",
         "much_that_comes_has_its_part_of_a_fold_at_once", "a_spent_run_that_goes_is_nothing_that_was_there",
         "what_waits_of_an_account_is_counted", "blocks_far_apart_stay_apart"],
    "Hours and days leave the servers when their month is compacted, not at once.": ["old_usage_goes_and_the_value_that_holds_stays"],
    "A cursor over servers holds an answer of theirs.": ["a_cursor_says_how_many_bytes_it_holds_open"],
    "What is three days old is looked for once a minute on servers.": ["a_block_goes_when_its_last_line_is_three_days_old"],
    "Where counters are on servers series are asked for by their ids, and none waits.":
        ["new_series_wait_until_there_are_many", "series_that_come_by_many_go_to_their_places"],
    "It is about how the file takes in many rows.":
        ["a_large_log_of_many_accounts_goes_in_whole_loads", "a_large_batch_is_the_same_with_a_helper"],
}
# True of servers too, and left to TB_LONG=1.
LONG_ALONE = {
    "It damages tables that are in the control file, wherever usage lies; the file's own run does that.":
        ["verify_finds_changed_late_usage", "a_changed_segment_is_found", "lost_changed_and_added_rungs_are_found"],
    "What is declared cannot be read; nothing of it is on servers.":
        ["verify_names_what_cannot_be_read_and_what_could_not", "tax_rates_may_be_one_a_list_or_an_object",
         "discounts_that_cannot_be_read_fail_the_months_with_bytes_under_them"],
}


def command(test):
    return [BUILD / "tests" / ("prop_tests" if test.startswith("prop_") else "unit_tests"), test]


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shards = [ClickHouse(), ClickHouse("Asia/Tokyo")]
        names = [name for tests in [*LEFT_OUT.values(), *([] if LONG else LONG_ALONE.values())] for name in tests]
        cls.environment = {**os.environ, "CK_FORK": "no", "TB_LEFT_OUT": "," + ",".join(names) + ",",
                           "TB_USAGE_SERVERS": ",".join(f"127.0.0.1:{shard.port}" for shard in cls.shards)}
        cls.environment.pop("TB_LONG", None)
        if not LONG:
            cls.environment["TB_USAGE_FEW"] = "1"

    @classmethod
    def tearDownClass(cls):
        for shard in cls.shards:
            shard.close()

    def test_on_two_servers(self):
        ran = 0
        for test in PROGRAMS + (MORE if LONG else []):
            with self.subTest(test=test):
                done = subprocess.run(command(test), env=self.environment, capture_output=True, check=False,
                                      timeout=PATIENCE * (60 if LONG else 5))
                said = (done.stdout + done.stderr).decode(errors="replace")
                self.assertEqual(done.returncode, 0, said)
                ran += int(re.search(r"Checks: (\d+)", said)[1])
        self.assertGreater(ran, 90)
        print(ran, "tests", flush=True)

    def test_what_is_left_out_is_there(self):
        source = "".join(path.read_text() for folder in ("unit", "prop")
                         for path in (SOURCE / "tests" / folder).glob("*.c"))
        for names in (LEFT_OUT | LONG_ALONE).values():
            for name in names:
                self.assertIn(f"START_TEST({name})", source)


if __name__ == "__main__":
    unittest.main()
