/* The lobby: each guest leaves once, by one way, whatever its socket does meanwhile. The load is
 * tests/http/test_flood.py's. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/front/lobby.h"

#define HEAD "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define MOST 4

typedef struct house {
    lobby_answer answer;
    unsigned in, full, late;
} house;

static lobby_answer admit(void *ctx, const lobby_guest *guest, unsigned waiting)
{
    house *h = ctx;
    ck_assert_uint_gt(waiting, 0);
    if (h->answer != LOBBY_IN) return h->answer;
    h->in++;
    close(guest->fd);
    return LOBBY_IN;
}

static void leave(void *ctx, const lobby_guest *guest, lobby_end why)
{
    house *h = ctx;
    if (why == LOBBY_FULL) h->full++;
    else h->late++;
    close(guest->fd);
}

static lobby *open_lobby(house *h)
{
    lobby *l = lobby_new((lobby_limits){MOST, 1000, 1000}, (lobby_hooks){admit, leave, h});
    ck_assert_ptr_nonnull(l);
    return l;
}

/* The client's end of a socket whose other end enters. */
static int enter(lobby *l, const char *text, int64_t now_us)
{
    int ends[2];
    lobby_guest g = {.peer_len = sizeof(struct sockaddr)};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    g.fd = ends[0];
    g.peer.ss_family = AF_INET;
    lobby_enter(l, &g, now_us);
    return ends[1];
}

START_TEST(a_whole_head_goes_in_and_half_of_one_waits)
{
    house h = {LOBBY_IN, 0, 0, 0};
    lobby *l = open_lobby(&h);
    int a = enter(l, HEAD, 0), b = enter(l, "GET / ", 0);
    ck_assert_uint_eq(h.in, 1);
    ck_assert_int_eq(lobby_run(l, 10), 1);
    ck_assert_int_eq(write(b, HEAD + 6, strlen(HEAD) - 6), (ssize_t)strlen(HEAD) - 6);
    ck_assert_int_eq(lobby_run(l, 20), -1);
    ck_assert_uint_eq(h.in, 2);
    ck_assert_uint_eq(lobby_guests(l), 0);
    lobby_free(l);
    close(a);
    close(b);
}
END_TEST

/* Heads become whole at once where there is no room: the first is let go of, the others are still watched
 * when more comes. */
START_TEST(who_is_ready_and_sends_more_is_counted_once)
{
    house h = {LOBBY_NO_ROOM, 0, 0, 0};
    lobby *l = open_lobby(&h);
    int client[3];
    for (int i = 0; i < 3; i++)
        client[i] = enter(l, "GET / ", 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_gt(write(client[i], HEAD + 6, strlen(HEAD) - 6), 0);
    ck_assert_int_gt(lobby_run(l, 10), 0);
    for (int i = 2; i >= 0; i--) {
        ck_assert_int_eq(write(client[i], "x", 1), 1);
        shutdown(client[i], SHUT_WR);
        ck_assert_int_gt(lobby_run(l, 20), 0);
    }
    ck_assert_uint_eq(lobby_guests(l), 3);
    h.answer = LOBBY_IN;
    ck_assert_int_eq(lobby_run(l, 30), -1);
    ck_assert_uint_eq(h.in, 3);
    ck_assert_uint_eq(lobby_guests(l), 0);
    lobby_free(l);
    ck_assert_uint_eq(h.in + h.full + h.late, 3);
    for (int i = 0; i < 3; i++)
        close(client[i]);
}
END_TEST

START_TEST(a_full_lobby_lets_the_oldest_incomplete_head_go)
{
    house h = {LOBBY_IN, 0, 0, 0};
    lobby *l = open_lobby(&h);
    int client[MOST + 1];
    for (int i = 0; i <= MOST; i++)
        client[i] = enter(l, "GET", i);
    ck_assert_uint_eq(h.full, 1);
    ck_assert_uint_eq(lobby_guests(l), MOST);
    char byte;
    ck_assert(recv(client[0], &byte, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN);
    lobby_run(l, 5000);
    ck_assert_uint_eq(h.late, MOST);
    lobby_free(l);
    for (int i = 0; i <= MOST; i++)
        close(client[i]);
}
END_TEST

START_TEST(who_waits_too_long_for_room_leaves)
{
    house h = {LOBBY_NO_ROOM, 0, 0, 0};
    lobby *l = open_lobby(&h);
    int a = enter(l, HEAD, 0), b = enter(l, HEAD, 0);
    lobby_run(l, 500);
    ck_assert_uint_eq(lobby_guests(l), 2);
    lobby_run(l, 1500);
    ck_assert_uint_eq(h.full, 2);
    ck_assert_uint_eq(lobby_guests(l), 0);
    lobby_free(l);
    close(a);
    close(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lobby");
    TCase *tc = tcase_create("guests");
    tcase_add_test(tc, a_whole_head_goes_in_and_half_of_one_waits);
    tcase_add_test(tc, who_is_ready_and_sends_more_is_counted_once);
    tcase_add_test(tc, a_full_lobby_lets_the_oldest_incomplete_head_go);
    tcase_add_test(tc, who_waits_too_long_for_room_leaves);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
