/* Pending connections: each leaves once, by one way, whatever its socket does meanwhile. The load is
 * tests/http/test_flood.py's. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/front/pending.h"

#define HEAD "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define MOST 4

typedef struct outcome {
    pending_verdict answer;
    unsigned in, full, late;
} outcome;

static pending_verdict admit(void *ctx, const pending_socket *s, unsigned ready)
{
    outcome *h = ctx;
    ck_assert_uint_gt(ready, 0);
    if (h->answer != PENDING_TAKEN) return h->answer;
    h->in++;
    close(s->fd);
    return PENDING_TAKEN;
}

static void leave(void *ctx, const pending_socket *s, pending_end why)
{
    outcome *h = ctx;
    if (why == PENDING_FULL) h->full++;
    if (why == PENDING_LATE) h->late++;
    close(s->fd);
}

static pending *open_pending(outcome *h)
{
    pending *p = pending_new((pending_limits){MOST, 1000, 1000}, (pending_hooks){admit, leave, h});
    ck_assert_ptr_nonnull(p);
    return p;
}

/* The client's end of a socket whose other end enters. */
static int enter(pending *p, const char *text, int64_t now_us)
{
    int ends[2];
    pending_socket g = {.peer_len = sizeof(struct sockaddr)};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    g.fd = ends[0];
    g.peer.ss_family = AF_INET;
    pending_add(p, &g, now_us);
    return ends[1];
}

START_TEST(a_whole_head_is_admitted_and_half_of_one_waits)
{
    outcome h = {PENDING_TAKEN, 0, 0, 0};
    pending *p = open_pending(&h);
    int a = enter(p, HEAD, 0), b = enter(p, "GET / ", 0);
    ck_assert_uint_eq(h.in, 1);
    ck_assert_int_eq(pending_run(p, 10), 1);
    ck_assert_int_eq(write(b, HEAD + 6, strlen(HEAD) - 6), (ssize_t)strlen(HEAD) - 6);
    ck_assert_int_eq(pending_run(p, 20), -1);
    ck_assert_uint_eq(h.in, 2);
    ck_assert_uint_eq(pending_count(p), 0);
    pending_free(p);
    close(a);
    close(b);
}
END_TEST

/* Heads become whole at once where there is no room: the first is no longer watched, the others are still watched
 * when more comes. */
START_TEST(one_that_is_ready_and_sends_more_is_counted_once)
{
    outcome h = {PENDING_NO_ROOM, 0, 0, 0};
    pending *p = open_pending(&h);
    int client[3];
    for (int i = 0; i < 3; i++)
        client[i] = enter(p, "GET / ", 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_gt(write(client[i], HEAD + 6, strlen(HEAD) - 6), 0);
    ck_assert_int_gt(pending_run(p, 10), 0);
    for (int i = 2; i >= 0; i--) {
        ck_assert_int_eq(write(client[i], "x", 1), 1);
        shutdown(client[i], SHUT_WR);
        ck_assert_int_gt(pending_run(p, 20), 0);
    }
    ck_assert_uint_eq(pending_count(p), 3);
    h.answer = PENDING_TAKEN;
    ck_assert_int_eq(pending_run(p, 30), -1);
    ck_assert_uint_eq(h.in, 3);
    ck_assert_uint_eq(pending_count(p), 0);
    pending_free(p);
    ck_assert_uint_eq(h.in + h.full + h.late, 3);
    for (int i = 0; i < 3; i++)
        close(client[i]);
}
END_TEST

START_TEST(a_full_pending_lets_the_oldest_incomplete_head_go)
{
    outcome h = {PENDING_TAKEN, 0, 0, 0};
    pending *p = open_pending(&h);
    int client[MOST + 1];
    for (int i = 0; i <= MOST; i++)
        client[i] = enter(p, "GET", i);
    ck_assert_uint_eq(h.full, 1);
    ck_assert_uint_eq(pending_count(p), MOST);
    char byte;
    ck_assert(recv(client[0], &byte, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN);
    pending_run(p, 5000);
    ck_assert_uint_eq(h.late, MOST);
    pending_free(p);
    for (int i = 0; i <= MOST; i++)
        close(client[i]);
}
END_TEST

START_TEST(one_that_waits_too_long_for_room_leaves)
{
    outcome h = {PENDING_NO_ROOM, 0, 0, 0};
    pending *p = open_pending(&h);
    int a = enter(p, HEAD, 0), b = enter(p, HEAD, 0);
    pending_run(p, 500);
    ck_assert_uint_eq(pending_count(p), 2);
    pending_run(p, 1500);
    ck_assert_uint_eq(h.full, 2);
    ck_assert_uint_eq(pending_count(p), 0);
    pending_free(p);
    close(a);
    close(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pending");
    TCase *tc = tcase_create("sockets");
    tcase_add_test(tc, a_whole_head_is_admitted_and_half_of_one_waits);
    tcase_add_test(tc, one_that_is_ready_and_sends_more_is_counted_once);
    tcase_add_test(tc, a_full_pending_lets_the_oldest_incomplete_head_go);
    tcase_add_test(tc, one_that_waits_too_long_for_room_leaves);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
