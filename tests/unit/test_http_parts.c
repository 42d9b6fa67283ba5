/* The server's parts that need no socket: cache, keys, the latest version of a thing, the
 * access log, rate limits, connections. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/alerts.h"
#include "http/accesslog.h"
#include "http/cache.h"
#include "http/front/conns.h"
#include "http/keys.h"
#include "http/published.h"
#include "http/limit.h"
#include "http/metrics.h"
#include "http/stream_slots.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* --- the rounds of alerts --- */

#define SECOND INT64_C(1000000)

/* A commit at each of these seconds; rounds that take so long. *ret_longest: from a commit to the end of the round that saw it. */
static unsigned go_rounds(const int *commits, size_t n, int64_t took_us, int64_t *ret_longest)
{
    alert_rounds r = alert_no_round;
    unsigned rounds = 0;
    size_t seen = 0;
    *ret_longest = 0;
    for (int64_t now = 0; now < 300 * SECOND; now += SECOND / 5) {
        uint64_t version = 0;
        bool all;
        while (version < n && commits[version] * SECOND <= now)
            version++;
        if (!alert_round_due(&r, now, version, &all)) continue;
        for (r.version = version; seen < version; seen++)
            if (now + took_us - commits[seen] * SECOND > *ret_longest) *ret_longest = now + took_us - commits[seen] * SECOND;
        alert_round_over(&r, all, false, false, now, now + took_us);
        now += took_us;
        rounds++;
    }
    ck_assert_uint_eq(seen, n);
    return rounds;
}

START_TEST(a_commit_right_after_another_is_looked_at_within_twenty_seconds)
{
    static const struct {
        int commits[8];
        size_t n;
        int64_t took_us, longest; /* seconds */
        unsigned rounds;
    } cases[] = {
        {{20}, 1, SECOND / 10, 1, 2},
        {{20, 21}, 2, SECOND / 10, 11, 3},
        {{20, 21, 22, 31, 32, 33}, 6, SECOND / 10, 11, 4},
        {{20, 21}, 2, SECOND, 12, 3},
        {{20, 21}, 2, 20 * SECOND, 100, 3}, /* of a busy server the share is bounded */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t longest;
        ck_assert_uint_eq(go_rounds(cases[i].commits, cases[i].n, cases[i].took_us, &longest), cases[i].rounds);
        ck_assert_msg(longest <= cases[i].longest * SECOND, "case %zu: %lld us", i, (long long)longest);
    }
}
END_TEST

START_TEST(a_round_that_failed_is_gone_over_all_again)
{
    alert_rounds r = alert_no_round;
    bool all;
    ck_assert(alert_round_due(&r, 0, 0, &all) && all);
    alert_round_over(&r, true, false, false, 0, 1);
    ck_assert(!alert_round_due(&r, 3599 * SECOND, 0, &all) && !all);
    ck_assert(alert_round_due(&r, 3600 * SECOND, 0, &all) && all);
    alert_round_over(&r, true, false, true, 3600 * SECOND, 3600 * SECOND);
    ck_assert(!alert_round_due(&r, 3609 * SECOND, 0, &all));
    ck_assert(alert_round_due(&r, 3610 * SECOND, 0, &all) && all);
    alert_round_over(&r, true, true, false, 3610 * SECOND, 3610 * SECOND);
    ck_assert(alert_round_due(&r, 3610 * SECOND, 0, &all) && all);
}
END_TEST

/* --- cache --- */

static answer *make(size_t len, char fill)
{
    char *bytes = malloc(len);
    memset(bytes, fill, len);
    answer *a = answer_new();
    ck_assert(answer_set(a, bytes, len));
    free(bytes);
    return a;
}

static void put(cache *c, uint64_t id, size_t len, char fill)
{
    cache_key key = {{id}};
    answer *a = make(len, fill);
    cache_put(c, &key, a);
    answer_drop(a);
}

/* The first byte of what is found; 0: nothing. */
static char look(cache *c, uint64_t id)
{
    cache_key key = {{id}};
    answer *a = cache_get(c, &key);
    char found = a ? answer_body(a)->data[0] : 0;
    answer_drop(a);
    return found;
}

START_TEST(what_the_cache_does_not_take_goes_out_in_its_own_memory)
{
    cache *none = cache_new(0), *c = cache_new(16 * MIB);
    ck_assert(!cache_takes(none, 1));
    ck_assert(cache_takes(c, KIB));
    ck_assert(!cache_takes(c, MIB));
    tb_buf bytes;
    tb_buf_init(&bytes, ANSWER_MAX, NULL);
    tb_buf_str(&bytes, "{}");
    const char *data = bytes.data;
    answer *a = answer_new();
    answer_take(a, &bytes);
    ck_assert_ptr_eq(answer_body(a)->data, data);
    ck_assert_uint_eq(answer_body(a)->len, 2);
    ck_assert_uint_eq(bytes.cap, 0);
    answer_drop(a);
    cache_free(none);
    cache_free(c);
}
END_TEST

START_TEST(what_is_put_is_found_by_its_whole_key)
{
    cache *c = cache_new(16 * MIB);
    for (uint64_t i = 1; i <= 200; i++)
        put(c, i, 10, (char)i);
    for (uint64_t i = 1; i <= 200; i++)
        ck_assert_int_eq(look(c, i), (char)i);
    ck_assert_int_eq(look(c, 201), 0);
    for (int word = 0; word < CACHE_KEY_WORDS; word++) {
        cache_key key = {{1}};
        key.word[word] += 1u << 20;
        ck_assert_ptr_null(cache_get(c, &key));
    }
    put(c, 1, 10, 'x'); /* the first stays */
    ck_assert_int_eq(look(c, 1), 1);
    ck_assert_uint_eq(cache_entries(c), 200);
    cache_free(c);
}
END_TEST

START_TEST(it_never_passes_its_bound_and_the_unused_leave_first)
{
    cache *c = cache_new(16 * 64 * KIB);
    put(c, 1, KIB, 'k');
    for (uint64_t i = 2; i < 5000; i++) {
        put(c, i, KIB, 'x');
        ck_assert_int_eq(look(c, 1), 'k'); /* used all the time */
        ck_assert_uint_le(cache_bytes(c), 16 * 64 * KIB);
    }
    ck_assert_int_eq(look(c, 2), 0);
    ck_assert_int_eq(look(c, 4999), 'x');
    put(c, 9999, 64 * KIB, 'y'); /* larger than a shard */
    ck_assert_int_eq(look(c, 9999), 0);
    cache_free(c);
}
END_TEST

START_TEST(a_cache_of_nothing_keeps_nothing)
{
    cache *c = cache_new(0);
    put(c, 1, 1, 'a');
    ck_assert_int_eq(look(c, 1), 0);
    cache_free(c);
}
END_TEST

START_TEST(an_answer_in_use_outlives_its_eviction)
{
    cache *c = cache_new(16 * 64 * KIB);
    put(c, 1, KIB, 'k');
    cache_key key = {{1}};
    answer *held = cache_get(c, &key);
    cache_free(c);
    ck_assert_int_eq(answer_body(held)->data[KIB - 1], 'k');
    answer_drop(held);
}
END_TEST

static int dropped;

static void count_drop(void *thing)
{
    dropped += *(int *)thing;
}

START_TEST(what_goes_with_an_answer_goes_when_it_goes)
{
    answer *a = make(10, 'a');
    int one = 1, two = 2;
    dropped = 0;
    *answer_slot(a, 0, 4, count_drop) = &one;
    *answer_slot(a, 3, 4, count_drop) = &two;
    ck_assert_ptr_eq(*answer_slot(a, 0, 4, count_drop), &one);
    ck_assert_ptr_null(*answer_slot(a, 1, 4, count_drop));
    answer_hold(a);
    answer_drop(a);
    ck_assert_int_eq(dropped, 0);
    answer_drop(a);
    ck_assert_int_eq(dropped, 3);
}
END_TEST

typedef struct shared {
    cache *c;
    answer *a;
} shared;

static void *hammer(void *arg)
{
    shared *s = arg;
    gzip *gz = gzip_new();
    for (uint64_t i = 0; i < 2000; i++) {
        put(s->c, i % 50, 40 * KIB, 'h');
        char found = look(s->c, (i * 7) % 50);
        ck_assert(found == 0 || found == 'h');
        ck_assert_ptr_nonnull(answer_gzip(s->a, gz));
    }
    gzip_free(gz);
    return NULL;
}

START_TEST(threads_share_it)
{
    shared s = {cache_new(4 * MIB), make(100 * KIB, 'z')};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, hammer, &s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    answer_drop(s.a);
    cache_free(s.c);
}
END_TEST

/* --- keys --- */

static tb_key key_of(int64_t id, const char *text)
{
    tb_key key = {.id = id, .account = id * 10, .roles = 1, .revoked_us = INT64_MAX};
    tb_key_hash(text, strlen(text), key.hash);
    return key;
}

START_TEST(keys_are_found_by_their_text_alone)
{
    tb_key all[300];
    char text[16];
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "key %d", i);
        all[i] = key_of(i + 1, text);
        if (i % 3 == 0) all[i].revoked_us = 5;
    }
    key_table *table = key_table_new(all, 300);
    for (int i = 0; i < 600; i++) {
        snprintf(text, sizeof text, "key %d", i);
        const tb_key *found = key_table_find(table, text, strlen(text));
        ck_assert_int_eq(found != NULL, i < 300 && i % 3 != 0);
        if (found) ck_assert_int_eq(found->id, i + 1);
    }
    ck_assert_ptr_null(key_table_find(table, "", 0));
    key_table_free(table);
}
END_TEST

START_TEST(an_empty_table_knows_nobody)
{
    key_table *table = key_table_new(NULL, 0);
    ck_assert_ptr_null(key_table_find(table, "x", 1));
    key_table_free(table);
}
END_TEST

/* --- the latest version --- */

static _Atomic int freed;

static void free_number(void *number)
{
    freed++;
    free(number);
}

static int *number(int n)
{
    int *made = malloc(sizeof *made);
    *made = n;
    return made;
}

START_TEST(a_version_goes_with_its_last_reader)
{
    published *l = published_new(free_number);
    published_view one = {0}, two = {0};
    freed = 0;
    ck_assert_ptr_null(published_get(l, &one));
    ck_assert_int_eq(published_set(l, number(1), NULL), TB_OK);
    const int *first = published_get(l, &one);
    ck_assert_int_eq(*first, 1);
    ck_assert_ptr_eq(published_get(l, &one), first);
    ck_assert_ptr_eq(published_get(l, &two), first);
    ck_assert_int_eq(published_set(l, number(2), NULL), TB_OK);
    ck_assert_int_eq(*first, 1); /* still whole until its readers look again */
    ck_assert_int_eq(*(const int *)published_get(l, &one), 2);
    ck_assert_int_eq(freed, 0);
    published_release(&two);
    ck_assert_int_eq(freed, 1);
    published_free(l);
    ck_assert_int_eq(freed, 1);
    published_release(&one);
    ck_assert_int_eq(freed, 2);
}
END_TEST

static void *read_numbers(void *arg)
{
    published_view view = {0};
    int before = 0;
    while (before < 2000) {
        const int now = *(const int *)published_get(arg, &view);
        ck_assert_int_ge(now, before);
        before = now;
    }
    published_release(&view);
    return NULL;
}

START_TEST(readers_never_go_back_and_nothing_is_left)
{
    published *l = published_new(free_number);
    pthread_t readers[3];
    freed = 0;
    ck_assert_int_eq(published_set(l, number(0), NULL), TB_OK);
    for (int i = 0; i < 3; i++)
        pthread_create(&readers[i], NULL, read_numbers, l);
    for (int i = 1; i <= 2000; i++)
        ck_assert_int_eq(published_set(l, number(i), NULL), TB_OK);
    for (int i = 0; i < 3; i++)
        pthread_join(readers[i], NULL);
    published_free(l);
    ck_assert_int_eq(freed, 2001);
}
END_TEST

/* --- the access log --- */

#define LOG_THREADS 3
#define LOG_LINES   20000

static _Atomic int log_writing;

typedef struct log_writer {
    accesslog *log;
    unsigned worker;
} log_writer;

/* Numbered lines; slower than the logger, so that none is dropped. */
static void *write_lines(void *arg)
{
    const log_writer *w = arg;
    char id[17];
    for (int i = 0; i < LOG_LINES; i++) {
        snprintf(id, sizeof id, "%u-%d", w->worker, i);
        const accesslog_line line = {.method = "GET", .path = "/x", .path_len = 2, .id = id,
                                     .peer = "192.0.2.1", .status = 200};
        accesslog_write(w->log, w->worker, &line);
        if (i % 100 == 0) usleep(1000);
    }
    log_writing--;
    return NULL;
}

static FILE *open_text(const char *folder, const char *name, char path[64], const char *mode)
{
    snprintf(path, 64, "%s/%s", folder, name);
    return mode ? fopen(path, mode) : NULL;
}

/* Each worker's lines go on, from file to file, without a gap. */
static void read_lines(FILE *f, int next[LOG_THREADS])
{
    char line[1024];
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        unsigned worker;
        int i, end = 0;
        const char *id = strstr(line, "\"id\":\""), *tail = line + strlen(line) - 2;
        ck_assert_msg(line[0] == '{' && id && strcmp(tail, "}\n") == 0, "%s", line);
        ck_assert_int_eq(sscanf(id, "\"id\":\"%u-%d\"%n", &worker, &i, &end), 2);
        ck_assert_int_eq(next[worker]++, i);
    }
    fclose(f);
}

START_TEST(a_log_that_is_renamed_loses_and_tears_no_line)
{
    char folder[] = "/tmp/tollbook-log-XXXXXX", path[64], aside[64], name[16];
    accesslog *log;
    pthread_t threads[LOG_THREADS];
    log_writer writers[LOG_THREADS];
    int files = 0, next[LOG_THREADS] = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    open_text(folder, "log", path, NULL);
    ck_assert_int_eq(accesslog_open(path, LOG_THREADS, &log, NULL), TB_OK);
    log_writing = LOG_THREADS;
    for (unsigned i = 0; i < LOG_THREADS; i++) {
        writers[i] = (log_writer){log, i};
        pthread_create(&threads[i], NULL, write_lines, &writers[i]);
    }
    do {
        snprintf(name, sizeof name, "%d", files++);
        open_text(folder, name, aside, NULL);
        ck_assert_int_eq(rename(path, aside), 0);
        ck_assert_int_eq(accesslog_reopen(log, path, NULL), TB_OK);
    } while (log_writing > 0);
    for (int i = 0; i < LOG_THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(accesslog_dropped(log), 0);
    accesslog_close(log);
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "%d", i);
        read_lines(open_text(folder, name, aside, "r"), next);
        unlink(aside);
    }
    read_lines(fopen(path, "r"), next);
    for (int i = 0; i < LOG_THREADS; i++)
        ck_assert_int_eq(next[i], LOG_LINES);
    ck_assert_int_gt(files, 1);
    unlink(path);
    rmdir(folder);
}
END_TEST

/* --- rate limits --- */

START_TEST(a_bucket_holds_a_second_and_fills_in_one)
{
    limit *l = limit_new(10);
    unsigned wait = 0;
    int64_t now = 1000000;
    for (int i = 0; i < 10; i++)
        ck_assert(limit_take(l, 1, now, &wait));
    ck_assert(!limit_take(l, 1, now, &wait));
    ck_assert_uint_eq(wait, 1);
    ck_assert(limit_take(l, 2, now, &wait)); /* another account */
    ck_assert(!limit_take(l, 1, now + 99999, &wait));
    ck_assert(limit_take(l, 1, now + 100000, &wait));
    ck_assert(!limit_take(l, 1, now + 100001, &wait));
    ck_assert(!limit_take(l, 1, now - 5000000, &wait)); /* a clock that goes back gives nothing */
    now += INT64_C(3600) * 1000000;
    for (int i = 0; i < 10; i++)
        ck_assert(limit_take(l, 1, now, &wait));
    ck_assert(!limit_take(l, 1, now, &wait));
    limit_free(l);
}
END_TEST

START_TEST(any_number_of_accounts_fits)
{
    limit *l = limit_new(1);
    unsigned wait;
    for (int64_t account = -50000; account < 50000; account++)
        ck_assert(limit_take(l, account * 7919, 1, &wait));
    limit_free(l);
}
END_TEST

/* --- connections --- */

static conns *table_of(unsigned most, unsigned per_ip, unsigned workers)
{
    conns_limits limits = {.most = most, .per_ip = per_ip, .head_us = 1, .body_us = 1,
                           .idle_us = 1, .bytes_per_s = 1};
    return conns_new(&limits, workers);
}

static struct sockaddr_in peer_of(const char *address)
{
    struct sockaddr_in peer = {.sin_family = AF_INET};
    uint8_t ip[4] = {(uint8_t)address[0], 0, 0, (uint8_t)address[1]};
    memcpy(&peer.sin_addr, ip, 4);
    return peer;
}

static conns_verdict admit(conns *c, int fd, const char *address, conn **k)
{
    struct sockaddr_in peer = peer_of(address);
    return conns_admit(c, fd, (struct sockaddr *)&peer, k);
}

static bool make_room_of(conns *c, const char *address)
{
    struct sockaddr_in peer = peer_of(address);
    return conns_make_room_of(c, (struct sockaddr *)&peer);
}

static void no_request(struct request *r)
{
    ck_assert_ptr_null(r);
}

START_TEST(connections_are_dealt_out_evenly_and_counted)
{
    conns *c = table_of(10, 0, 3);
    conn *k[10];
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(admit(c, 100 + i, "\x0a\x01", &k[i]), CONNS_OK);
    for (unsigned w = 0; w < 3; w++)
        ck_assert_uint_eq(conns_open_of(c, w), 3);
    conn_closed(k[4]);
    ck_assert_int_eq(admit(c, 200, "\x0a\x01", &k[4]), CONNS_OK);
    for (unsigned w = 0; w < 3; w++)
        ck_assert_uint_eq(conns_open_of(c, w), 3);
    ck_assert_int_eq(admit(c, 201, "\x0a\x01", &k[9]), CONNS_OK);
    ck_assert_int_eq(admit(c, 202, "\x0a\x01", &k[9]), CONNS_FULL);
    ck_assert_uint_eq(conns_open(c), 10);
    conns_free(c, no_request);
}
END_TEST

START_TEST(an_address_has_its_share_and_loopback_any)
{
    conns *c = table_of(100, 2, 1);
    conn *k, *first;
    ck_assert_int_eq(admit(c, 1, "\x0a\x01", &first), CONNS_OK);
    ck_assert_int_eq(admit(c, 2, "\x0a\x01", &k), CONNS_OK);
    ck_assert_int_eq(admit(c, 3, "\x0a\x01", &k), CONNS_PER_IP);
    ck_assert_int_eq(admit(c, 3, "\x0a\x02", &k), CONNS_OK);
    conn_closed(first);
    ck_assert_int_eq(admit(c, 4, "\x0a\x01", &k), CONNS_OK);
    for (int i = 10; i < 20; i++)
        ck_assert_int_eq(admit(c, i, "\x7f\x01", &k), CONNS_OK);
    conns_free(c, no_request);
}
END_TEST

/* Descriptors are sockets here: one that is ended is shut down for reading. */
START_TEST(an_address_that_has_its_share_ends_an_idle_connection_of_its_own)
{
    conns *c = table_of(100, 2, 1);
    conn *k[4];
    int pair[4][2];
    char byte;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(admit(c, pair[i][0], i < 2 ? "\x0a\x01" : "\x0a\x02", &k[i]), CONNS_OK);
        ck_assert_ptr_eq(conns_opened(c, pair[i][0]), k[i]);
    }
    conn_set_phase(k[0], CONN_WORK, 0, 1);
    conn_set_phase(k[1], CONN_WORK, 0, 1);
    conn_set_phase(k[2], CONN_IDLE, 0, 1);
    ck_assert(!make_room_of(c, "\x0a\x01")); /* both are at work; the idle one is another's */
    conn_set_phase(k[0], CONN_IDLE, 0, 3);
    conn_set_phase(k[1], CONN_IDLE, 0, 2);
    ck_assert(make_room_of(c, "\x0a\x01"));
    ck_assert_int_eq(recv(pair[1][0], &byte, 1, MSG_DONTWAIT), 0); /* idle for longer */
    ck_assert(make_room_of(c, "\x0a\x01"));                       /* that one is leaving still */
    for (int i = 0; i < 3; i += 2)
        ck_assert_int_eq(recv(pair[i][0], &byte, 1, MSG_DONTWAIT), -1);
    conn_closed(k[1]);
    ck_assert_int_eq(admit(c, pair[3][0], "\x0a\x01", &k[3]), CONNS_OK);
    conns_free(c, no_request);
    for (int i = 0; i < 4; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}
END_TEST

/* The sweeper's seconds are those that a stream's client takes: 1 s in hand, and 1 s for 32 KiB. */
START_TEST(a_stream_s_client_must_keep_reading)
{
    const int64_t s = 1000000;
    conns_limits limits = {.most = 10, .head_us = s, .body_us = s, .idle_us = s,
                           .bytes_per_s = 128 * (int64_t)KIB};
    conns *c = conns_new(&limits, 1);
    conn *k;
    ck_assert_int_eq(admit(c, 3, "1.1.1.1", &k), CONNS_OK);
    conn_set_phase(k, CONN_SEND, 0, 10 * s);
    ck_assert_int_eq(k->deadline_us, 11 * s);
    /* made at once, and taken at once: nothing is saved up */
    for (int i = 0; i < 100; i++)
        conn_piece(k, 32 * KIB, 10 * s, 10 * s);
    ck_assert_int_eq(k->deadline_us, 12 * s);
    /* the server's own time is not the client's */
    conn_piece(k, 0, 10 * s, 500 * s);
    ck_assert_int_eq(k->deadline_us, 501 * s);
    /* slower than 32 KiB a second: what is in hand runs out */
    int64_t now = 500 * s, pieces = 0;
    while (k->deadline_us > now) {
        conn_piece(k, 32 * KIB, now, now);
        now += s + s / 8;
        pieces++;
    }
    ck_assert_int_eq(pieces, 8);
    conn_closed(k);
    conns_free(c, no_request);
}
END_TEST

START_TEST(an_account_has_its_share_of_places)
{
    stream_slots *p = stream_slots_new();
    tb_error err;
    for (int account = 1; account <= STREAM_SLOTS_MAX / STREAM_SLOTS_SHARE; account++) {
        for (int i = 0; i < STREAM_SLOTS_SHARE; i++)
            ck_assert_int_eq(stream_slots_take(p, account, &err), TB_OK);
        ck_assert_int_eq(stream_slots_take(p, account, &err), TB_E_RATE_LIMITED);
    }
    ck_assert_int_eq(stream_slots_take(p, 99, &err), TB_E_RATE_LIMITED);
    ck_assert_str_eq(err.message, "Too many answers are being read at once.");
    stream_slots_release(p, 2, 0);
    ck_assert_int_eq(stream_slots_take(p, 1, &err), TB_E_RATE_LIMITED);
    ck_assert_ptr_nonnull(strstr(err.message, "of this account"));
    ck_assert_int_eq(stream_slots_take(p, 99, &err), TB_OK);
    stream_slots_free(p);
    stream_slots_free(NULL);
}
END_TEST

START_TEST(an_accounts_answers_hold_so_much_memory_and_one_alone_any)
{
    stream_slots *p = stream_slots_new();
    tb_error err;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(stream_slots_take(p, 7, &err), TB_OK);
    ck_assert_int_eq(stream_slots_hold(p, 7, 2 * STREAM_SLOTS_BYTES, &err), TB_OK);
    ck_assert_int_eq(stream_slots_hold(p, 7, 1, &err), TB_E_RATE_LIMITED);
    ck_assert_int_eq(stream_slots_take(p, 8, &err), TB_OK);
    ck_assert_int_eq(stream_slots_hold(p, 8, STREAM_SLOTS_BYTES, &err), TB_OK);
    stream_slots_release(p, 7, 2 * STREAM_SLOTS_BYTES);
    ck_assert_int_eq(stream_slots_hold(p, 7, STREAM_SLOTS_BYTES - 5, &err), TB_OK);
    ck_assert_int_eq(stream_slots_hold(p, 7, 6, &err), TB_E_RATE_LIMITED);
    ck_assert_int_eq(stream_slots_hold(p, 7, SIZE_MAX, &err), TB_E_RATE_LIMITED);
    ck_assert_int_eq(stream_slots_hold(p, 7, 5, &err), TB_OK);
    stream_slots_free(p);
}
END_TEST

START_TEST(a_connection_that_the_library_lost_is_noticed)
{
    conns *c = table_of(2, 0, 1);
    conn *k;
    ck_assert_int_eq(admit(c, 7, "\x0a\x01", &k), CONNS_OK);
    ck_assert_int_eq(admit(c, 7, "\x0a\x01", &k), CONNS_OK); /* the number came again */
    ck_assert_uint_eq(conns_open(c), 1);
    conn_closed(k);
    ck_assert_uint_eq(conns_open(c), 0);
    ck_assert_int_eq(admit(c, CONNS_FD_MAX, "\x0a\x01", &k), CONNS_FULL);
    ck_assert_ptr_null(conns_opened(c, CONNS_FD_MAX));
    ck_assert_ptr_null(conns_opened(c, -1));
    conns_free(c, no_request);
}
END_TEST

static void *look_up(void *table)
{
    for (int i = 0; i < 20000; i++) {
        const conn *k = conns_at(table, 7);
        ck_assert(!k || !k->logging);
    }
    return NULL;
}

/* A worker asks for a socket of its own, whose number another worker's connection had: the thread sanitizer looks on. */
START_TEST(a_number_may_be_looked_up_while_others_come_and_go)
{
    conns *c = table_of(2, 0, 2);
    pthread_t thread;
    conn *k;
    ck_assert_int_eq(pthread_create(&thread, NULL, look_up, c), 0);
    for (int i = 0; i < 2000; i++) {
        ck_assert_int_eq(admit(c, 7, "\x0a\x01", &k), CONNS_OK);
        ck_assert_ptr_eq(conns_opened(c, 7), k);
        conn_closed(k);
    }
    pthread_join(thread, NULL);
    conns_free(c, no_request);
}
END_TEST

/* --- metrics --- */

/* Two workers' counts are added up; a bucket holds what took no longer than its bound. */
START_TEST(counters_and_buckets_are_written_as_they_were_counted)
{
    static metrics one, two;
    const metrics *const blocks[] = {&one, &two};
    static const char *const names[] = {"quick", "slow", "unused"};
    static const char *const wanted[] = {
        "\ntollbook_requests_total{route=\"quick\",status=\"200\"} 5\n",
        "\ntollbook_requests_total{route=\"quick\",status=\"503\"} 1\n",
        "\ntollbook_requests_total{route=\"slow\",status=\"other\"} 2\n",
        "\ntollbook_request_seconds_bucket{route=\"quick\",le=\"0.000100\"} 2\n",
        "\ntollbook_request_seconds_bucket{route=\"quick\",le=\"0.000250\"} 4\n",
        "\ntollbook_request_seconds_bucket{route=\"quick\",le=\"0.000500\"} 5\n",
        "\ntollbook_request_seconds_bucket{route=\"quick\",le=\"10.000000\"} 5\n",
        "\ntollbook_request_seconds_bucket{route=\"quick\",le=\"+Inf\"} 6\n",
        "\ntollbook_request_seconds_sum{route=\"quick\"} 10.000852\n",
        "\ntollbook_request_seconds_count{route=\"quick\"} 6\n",
        "\ntollbook_request_seconds_bucket{route=\"slow\",le=\"5.000000\"} 1\n",
        "\ntollbook_request_seconds_bucket{route=\"slow\",le=\"10.000000\"} 2\n",
        "\ntollbook_request_seconds_sum{route=\"slow\"} 15.000000\n",
        "\ntollbook_sent_bytes_total 7\n",
    };
    tb_buf out;
    metrics_count(&one, 0, 200, 0);
    metrics_count(&one, 0, 200, 100);
    metrics_count(&one, 0, 200, 101);
    metrics_count(&two, 0, 200, 250);
    metrics_count(&two, 0, 200, 400);
    metrics_count(&two, 0, 503, 10000001);
    metrics_count(&one, 1, 299, 10000000);
    metrics_count(&two, 1, 0, 5000000);
    metrics_add(&one.sent_bytes, 3);
    metrics_add(&two.sent_bytes, 4);
    tb_buf_init(&out, 1 << 16, NULL);
    metrics_write(blocks, 2, names, 3, &out);
    tb_buf_add(&out, "", 1);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(out.data, wanted[i]), "no%s", wanted[i]);
    ck_assert_ptr_null(strstr(out.data, "unused"));
    tb_buf_release(&out);
}
END_TEST


int main(void)
{
    Suite *suite = suite_create("http parts");
    TCase *tc = tcase_create("parts");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_commit_right_after_another_is_looked_at_within_twenty_seconds);
    tcase_add_test(tc, a_round_that_failed_is_gone_over_all_again);
    tcase_add_test(tc, what_the_cache_does_not_take_goes_out_in_its_own_memory);
    tcase_add_test(tc, what_is_put_is_found_by_its_whole_key);
    tcase_add_test(tc, it_never_passes_its_bound_and_the_unused_leave_first);
    tcase_add_test(tc, a_cache_of_nothing_keeps_nothing);
    tcase_add_test(tc, an_answer_in_use_outlives_its_eviction);
    tcase_add_test(tc, what_goes_with_an_answer_goes_when_it_goes);
    tcase_add_test(tc, threads_share_it);
    tcase_add_test(tc, keys_are_found_by_their_text_alone);
    tcase_add_test(tc, an_empty_table_knows_nobody);
    tcase_add_test(tc, a_version_goes_with_its_last_reader);
    tcase_add_test(tc, readers_never_go_back_and_nothing_is_left);
    tcase_add_test(tc, a_log_that_is_renamed_loses_and_tears_no_line);
    tcase_add_test(tc, a_bucket_holds_a_second_and_fills_in_one);
    tcase_add_test(tc, any_number_of_accounts_fits);
    tcase_add_test(tc, connections_are_dealt_out_evenly_and_counted);
    tcase_add_test(tc, an_address_has_its_share_and_loopback_any);
    tcase_add_test(tc, an_address_that_has_its_share_ends_an_idle_connection_of_its_own);
    tcase_add_test(tc, a_connection_that_the_library_lost_is_noticed);
    tcase_add_test(tc, a_number_may_be_looked_up_while_others_come_and_go);
    tcase_add_test(tc, a_stream_s_client_must_keep_reading);
    tcase_add_test(tc, an_account_has_its_share_of_places);
    tcase_add_test(tc, an_accounts_answers_hold_so_much_memory_and_one_alone_any);
    tcase_add_test(tc, counters_and_buckets_are_written_as_they_were_counted);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
