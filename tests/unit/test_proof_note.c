/* Keys, signed notes, checkpoints, cosignatures and proofs as texts: what Go's package note and C2SP publish, notes that are out
 * in the world, and each way in which a text can be wrong. */
#include "tollbook/proof.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof *(list))

static tb_text text_of(const char *text)
{
    return (tb_text){text, strlen(text)};
}

static tb_note_signer signer_of(const char *vkey)
{
    tb_note_signer signer = {.time_s = -1};
    tb_error err = {0};
    ck_assert_msg(tb_note_key_read(vkey, strlen(vkey), &signer.key, &err) == TB_OK, "%s: %s", vkey, err.message);
    return signer;
}

static tb_code open_note(const char *text, tb_note_signer *signers, size_t n, tb_error *err)
{
    tb_note note;
    const tb_code code = tb_note_read(text, strlen(text), &note, err);
    return code ? code : tb_note_open(&note, signers, n, err);
}

/* --- keys --- */

#define PETER   "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define ENOCH   "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
#define SECRET  "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
#define GO      "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
#define NAVIGLI "witness.navigli.sunlight.geomys.org+a3e00fe2+BNy/co4C1Hn1p+INwJrfUlgz7W55dSZReusH/GhUhJ/G"

START_TEST(verifier_keys_are_read_and_written)
{
    static const char *const vkeys[] = {PETER, ENOCH, GO, NAVIGLI, "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"};
    char text[TB_NOTE_VKEY];
    for (size_t i = 0; i < N(vkeys); i++) {
        const tb_note_signer signer = signer_of(vkeys[i]);
        ck_assert_int_eq(signer.key.type, strcmp(vkeys[i], NAVIGLI) == 0 ? TB_NOTE_COSIGNATURE : TB_NOTE_ED25519);
        tb_note_key_write(&signer.key, text);
        ck_assert_str_eq(text, vkeys[i]);
    }
}
END_TEST

static bool is_key(const char *text, size_t len)
{
    tb_note_key key;
    tb_error err = {0};
    const tb_code code = tb_note_key_read(text, len, &key, &err);
    if (code) ck_assert(code == TB_E_VALIDATION && strcmp(err.field, "vkey") == 0 && err.message[0]);
    return code == TB_OK;
}

static bool is_secret(const char *text, size_t len)
{
    tb_note_secret secret;
    tb_error err = {0};
    const tb_code code = tb_note_secret_read(text, len, &secret, &err);
    if (code) {
        ck_assert(code == TB_E_VALIDATION && strcmp(err.field, "key") == 0);
        ck_assert(!strstr(err.message, "AYEKFALVFGy"));
    }
    return code == TB_OK;
}

/* As Go's own test mangles them: each part of the text alone, and each character replaced by the next one. */
static void mangle(const char *good, bool (*is_taken)(const char *, size_t))
{
    char text[256];
    const size_t len = strlen(good);
    ck_assert(is_taken(good, len));
    for (size_t from = 0; from <= len; from++)
        for (size_t to = from; to <= len; to++)
            ck_assert_msg(is_taken(good + from, to - from) == (to - from == len), "%.*s", (int)(to - from), good + from);
    memcpy(text, good, len + 1);
    for (size_t i = 0; i < len; i++) {
        text[i]++;
        ck_assert_msg(!is_taken(text, len), "%s", text);
        text[i]--;
    }
}

START_TEST(mangled_keys_are_refused)
{
    static const char *const wrong[] = {
        /* A key that is too long, and an unknown type, each with its right ID; an ID in upper case; names. */
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", PETER "\n", PETER "+", "",
        "PeterNeumann+c74f20a3c7+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"};
    mangle(PETER, is_key);
    mangle(SECRET, is_secret);
    for (size_t i = 0; i < N(wrong); i++)
        ck_assert_msg(!is_key(wrong[i], strlen(wrong[i])), "%s", wrong[i]);
    ck_assert(is_secret(SECRET "\n", sizeof SECRET));
    ck_assert(!is_secret(SECRET "\n\n", sizeof SECRET + 1));
    ck_assert(!is_key(SECRET, sizeof SECRET - 1));
}
END_TEST

START_TEST(a_secret_key_is_made_and_written)
{
    static const uint8_t seed[32] = {1, 2, 3};
    tb_note_secret secret, again;
    char skey[TB_NOTE_SKEY], vkey[TB_NOTE_VKEY];
    ck_assert_int_eq(tb_note_secret_read(SECRET, sizeof SECRET - 1, &secret, NULL), TB_OK);
    tb_note_key_write(&secret.key, vkey);
    ck_assert_str_eq(vkey, PETER);
    tb_note_secret_write(&secret, skey);
    ck_assert_str_eq(skey, SECRET);
    for (int type = TB_NOTE_ED25519; type <= TB_NOTE_COSIGNATURE; type += TB_NOTE_COSIGNATURE - TB_NOTE_ED25519) {
        ck_assert_int_eq(tb_note_secret_make("example.com/log", 15, (tb_note_type)type, seed, &secret, NULL), TB_OK);
        tb_note_secret_write(&secret, skey);
        ck_assert_int_eq(tb_note_secret_read(skey, strlen(skey), &again, NULL), TB_OK);
        ck_assert(memcmp(again.seed, seed, 32) == 0 && again.key.id == secret.key.id && (int)again.key.type == type);
    }
    tb_note_secret_wipe(&secret);
    ck_assert(memcmp(secret.seed, (uint8_t[32]){0}, 32) == 0);
}
END_TEST

START_TEST(names_have_no_spaces_and_plus_signs)
{
    static const char *const good[] = {
        "a", "example.com/log42", "\xc3\xa9t\xc3\xa9", "a\xe2\x80\x8b" /* no space: U+200B */, "oid/1.3.6.1",
    };
    static const char *const wrong[] = {
        "", "a b", "a+b", "a\tb", "a\x01", "a\xc2\xa0", "\xc2\x85", "\xe1\x9a\x80", "a\xe2\x80\x80", "\xe2\x80\x8a",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xff", "\xc3",
    };
    static const uint8_t seed[32] = {0};
    char longest[TB_NOTE_NAME + 2], skey[TB_NOTE_SKEY], vkey[TB_NOTE_VKEY];
    tb_note_secret secret, again;
    tb_error err;
    for (size_t i = 0; i < N(good); i++)
        ck_assert_int_eq(tb_note_secret_make(good[i], strlen(good[i]), TB_NOTE_ED25519, seed, &secret, NULL), TB_OK);
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_int_eq(tb_note_secret_make(wrong[i], strlen(wrong[i]), TB_NOTE_ED25519, seed, &secret, &err), TB_E_VALIDATION);
        ck_assert_str_eq(err.field, "name");
    }
    memset(longest, 'a', sizeof longest);
    ck_assert_int_eq(tb_note_secret_make(longest, TB_NOTE_NAME + 1, TB_NOTE_ED25519, seed, &secret, NULL), TB_E_VALIDATION);
    ck_assert_int_eq(tb_note_secret_make(longest, TB_NOTE_NAME, TB_NOTE_ED25519, seed, &secret, NULL), TB_OK);
    tb_note_secret_write(&secret, skey);
    tb_note_key_write(&secret.key, vkey);
    ck_assert_uint_eq(strlen(skey), TB_NOTE_SKEY - 1);
    ck_assert_uint_eq(strlen(vkey), TB_NOTE_VKEY - 1);
    ck_assert_int_eq(tb_note_secret_read(skey, strlen(skey), &again, NULL), TB_OK);
}
END_TEST

/* --- notes --- */

#define TEXT      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
#define PETER_SIG "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
#define ENOCH_SIG "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"

START_TEST(the_note_of_go_is_signed_and_opened)
{
    tb_note_secret secret;
    tb_note note;
    tb_buf out;
    tb_error err;
    ck_assert_int_eq(tb_note_secret_read(SECRET, sizeof SECRET - 1, &secret, NULL), TB_OK);
    tb_buf_init(&out, 1000, NULL);
    tb_buf_str(&out, TEXT "\n");
    tb_note_sign(&secret, text_of(TEXT), 0, &out);
    ck_assert_int_eq(tb_buf_check(&out, NULL), TB_OK);
    ck_assert_uint_eq(out.len, strlen(TEXT "\n" PETER_SIG));
    ck_assert(memcmp(out.data, TEXT "\n" PETER_SIG, out.len) == 0);
    tb_buf_release(&out);

    ck_assert_int_eq(tb_note_read(TEXT "\n" PETER_SIG ENOCH_SIG, strlen(TEXT "\n" PETER_SIG ENOCH_SIG), &note, NULL), TB_OK);
    ck_assert_uint_eq(note.n_signatures, 2);
    ck_assert_uint_eq(note.text.len, strlen(TEXT));
    ck_assert_uint_eq(note.signatures[1].id, 0xaf0cfe78);
    ck_assert(note.signatures[1].name.len == 9 && memcmp(note.signatures[1].name.data, "EnochRoot", 9) == 0);
    tb_note_signer both[] = {signer_of(PETER), signer_of(ENOCH)};
    ck_assert_int_eq(tb_note_open(&note, both, 2, NULL), TB_OK);
    ck_assert(both[0].has_signed && both[1].has_signed && both[0].time_s == 0);
    tb_note_signer others[] = {signer_of(GO), signer_of(ENOCH)};
    ck_assert_int_eq(tb_note_open(&note, others, 2, NULL), TB_OK);
    ck_assert(!others[0].has_signed && others[1].has_signed);
    ck_assert_int_eq(tb_note_open(&note, others, 1, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_note_open(&note, NULL, 0, &err), TB_E_NOT_FOUND);
    tb_note_signer twice[] = {signer_of(ENOCH), signer_of(PETER), signer_of(ENOCH)};
    ck_assert_int_eq(tb_note_open(&note, twice, 3, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "key");
}
END_TEST

/* A wrong signature by a known key refuses the note, wherever it stands. */
START_TEST(a_wrong_signature_refuses_the_note)
{
    tb_error err;
    tb_note_signer both[] = {signer_of(PETER), signer_of(ENOCH)};
    static const char *const wrong[] = {
        "If you think cryptography is an answer.\n\n" PETER_SIG,
        TEXT "\n" PETER_SIG "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QU=\n",
        TEXT "\n" PETER_SIG "— EnochRoot rwz+eBzm\n",
        TEXT "\n" PETER_SIG PETER_SIG "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAMA\n",
        TEXT "\n" "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZABCDSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n",
    };
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_int_eq(open_note(wrong[i], both, 2, &err), TB_E_DIFFERENT);
        ck_assert_str_eq(err.field, "signature");
        ck_assert(!both[0].has_signed && !both[1].has_signed);
    }
    ck_assert_int_eq(open_note(TEXT "\n" PETER_SIG PETER_SIG, both, 2, NULL), TB_OK);
}
END_TEST

START_TEST(what_is_no_note_is_refused)
{
    static const char *const wrong[] = {
        "", "\n", "\n\n", TEXT, TEXT "\n", TEXT "\n\n", "\x01" TEXT "\n" PETER_SIG, "\xff" TEXT "\n" PETER_SIG, TEXT PETER_SIG,
        TEXT "\n" PETER_SIG "Unexpected line.\n", TEXT "\n" PETER_SIG "\n", TEXT "\r\n" PETER_SIG,
        TEXT "\n— Bad Name x08go/ZJkuBS9UG/\n", TEXT "\n— PeterNeumann\n", TEXT "\n— PeterNeumann \n",
        TEXT "\n— PeterNeumann x08go/Z\n", TEXT "\n— PeterNeumann x08gow==\n", TEXT "\n— PeterNeumann x08g\n",
        TEXT "\n— Peter+Neumann x08go/ZJkuA=\n", TEXT "\n—  x08go/ZJkuA=\n", TEXT "\n- PeterNeumann x08go/ZJkuA=\n",
        TEXT "\n— PeterNeumann x08go/ZJkuB=\n", TEXT "\n— PeterNeumann x08go=ZJkuA=\n", TEXT "\n— PeterNeumann x08go/ZJkuA= \n",
        TEXT "\n— PeterNeumann x08go_ZJkuA=\n", TEXT "\n— PeterNeumann  x08go/ZJkuA=\n", TEXT "\n— PeterNeumann x08go/ZJkuA=",
    };
    tb_note note;
    tb_error err;
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_msg(tb_note_read(wrong[i], strlen(wrong[i]), &note, &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert_str_eq(err.field, "note");
    }
    static const char shortest[] = "a\n\nb\n\n— a x08go/Y=\n"; /* ID and one byte */
    ck_assert_int_eq(tb_note_read(shortest, sizeof shortest - 1, &note, &err), TB_OK);
    ck_assert_uint_eq(note.text.len, 5);
    ck_assert_uint_eq(note.signatures[0].id, 0xc74f20a3);
}
END_TEST

START_TEST(notes_have_their_bounds)
{
    tb_buf text;
    tb_note note;
    tb_error err;
    tb_note_signer peter = signer_of(PETER);
    tb_note_secret secret;
    tb_buf_init(&text, 2 * TB_NOTE_MAX, NULL);
    tb_buf_str(&text, TEXT "\n");
    for (int i = 0; i < TB_NOTE_SIGNATURES; i++)
        tb_buf_str(&text, PETER_SIG);
    ck_assert_int_eq(tb_note_read(text.data, text.len, &note, NULL), TB_OK);
    ck_assert_int_eq(tb_note_open(&note, &peter, 1, NULL), TB_OK);
    tb_buf_str(&text, PETER_SIG);
    ck_assert_int_eq(tb_note_read(text.data, text.len, &note, &err), TB_E_TOO_LARGE);
    text.len = 0;
    while (text.len < TB_NOTE_MAX)
        tb_buf_str(&text, TEXT);
    tb_buf_str(&text, "\n" PETER_SIG);
    ck_assert_int_eq(tb_note_read(text.data, text.len, &note, &err), TB_E_TOO_LARGE);
    text.data[TB_NOTE_TEXT] = '\n'; /* a text that is one byte too long, and signed */
    ck_assert_int_eq(tb_note_secret_read(SECRET, sizeof SECRET - 1, &secret, NULL), TB_OK);
    text.len = TB_NOTE_TEXT + 1;
    tb_buf_str(&text, "\n" PETER_SIG);
    ck_assert_int_eq(tb_note_read(text.data, text.len, &note, &err), TB_OK);
    ck_assert_int_eq(tb_note_open(&note, &peter, 1, &err), TB_E_TOO_LARGE);
    tb_note_sign(&secret, note.text, 0, &text);
    ck_assert(text.failed);
    tb_buf_release(&text);
}
END_TEST

/* --- checkpoints --- */

/* https://sum.golang.org/latest as others published it. */
static const char *const golang[] = {
    "go.sum database tree\n65209736\n5+uGFjx6xBZG8ip1+wi77v+grwbhhukIrxEUS8PXvRo=\n\n"
    "— sum.golang.org Az3grnbssgK7ubgFX36gVETtNv0U23qxyAhAMai2QUfeGa3nB/akvkMdlUErfcZz7l/R3cVtYspg3dxXABkGZZKdsQ8=\n",
    "go.sum database tree\n6476701\nmb8QLQIs0Z0yP5Cstq6guj87oXWeC9gEM8oVikmm9Wk=\n\n"
    "— sum.golang.org Az3grsLX85Gz+s1SiTbgkuqxgItqFq7gsMUEyVnrsa9LM7Us9S+1xbFIGu95949rj4nPRYfvimWEPWL+o3GeoWwOoAw=\n",
};
/* A checkpoint of Google's with the cosignature of Geomys' witness; its log's signature is of another kind. */
#define COSIGNED                                                                                                                   \
    "coachandhorses2026h1.staging.certificate.transparency.goog\n185550722\nYXAM0VmnrfvLaBCOOYSJhCaE5F10oGBOo+hkbDa1kng=\n\n"      \
    "— coachandhorses2026h1.staging.certificate.transparency.goog MpXgsHy8ZwxXnO+WjtVrPxAzL49Rs1gWTkNVNeEa//5peAzaocRCB3qt3Eaib"    \
    "jzY5GILLtGgBP7dBhgcSHy+JQh0OAc=\n"                                                                                            \
    "— witness.navigli.sunlight.geomys.org o+AP4gAAAABqb7DzNrGFRJnQ9vrJ8xpnwZytnr/ZYczDIsvwvouiSjwOjn7a72ccxBk+lKnZ7dKqkYKER1s/"  \
    "KxLTaVwQD7lJZTC/CQ==\n"

START_TEST(published_checkpoints_are_opened)
{
    tb_note note;
    tb_checkpoint checkpoint;
    tb_error err;
    for (size_t i = 0; i < N(golang); i++) {
        tb_note_signer go = signer_of(GO);
        ck_assert_int_eq(tb_note_read(golang[i], strlen(golang[i]), &note, NULL), TB_OK);
        ck_assert_int_eq(tb_note_open(&note, &go, 1, NULL), TB_OK);
        ck_assert_int_eq(tb_checkpoint_read(note.text, &checkpoint, NULL), TB_OK);
        ck_assert_int_eq(checkpoint.size, i ? 6476701 : 65209736);
        ck_assert(checkpoint.origin.len == 20 && checkpoint.extensions.len == 0);
        /* Its key's name is not its origin, which tb_checkpoint_open wants. */
        ck_assert_int_eq(tb_checkpoint_open(&note, &go, 1, &checkpoint, &err), TB_E_NOT_FOUND);
        ck_assert(!go.has_signed);
    }
    tb_note_signer witness = signer_of(NAVIGLI);
    ck_assert_int_eq(tb_note_read(COSIGNED, strlen(COSIGNED), &note, NULL), TB_OK);
    ck_assert_int_eq(tb_note_open(&note, &witness, 1, NULL), TB_OK);
    ck_assert(witness.has_signed);
    ck_assert_int_eq(witness.time_s, 0x6a6fb0f3);
    ck_assert_int_eq(tb_checkpoint_open(&note, &witness, 1, &checkpoint, &err), TB_E_NOT_FOUND); /* no key of the log */
}
END_TEST

/* The same key as a plain one is another key: it has another ID. */
START_TEST(a_cosignature_is_of_its_time_and_text)
{
    char text[1024];
    tb_error err;
    tb_note_signer witness = signer_of(NAVIGLI);
    memcpy(text, COSIGNED, sizeof COSIGNED);
    char *time = strstr(text, "AAAABqb7Dz");
    time[9] = '0';
    ck_assert_int_eq(open_note(text, &witness, 1, &err), TB_E_DIFFERENT);
    memcpy(text, COSIGNED, sizeof COSIGNED);
    strstr(text, "4gAAAABq")[1] = 'o'; /* 2^63 and more */
    ck_assert_int_eq(open_note(text, &witness, 1, &err), TB_E_DIFFERENT);
    memcpy(text, COSIGNED, sizeof COSIGNED);
    strstr(text, "185550722")[0] = '2';
    ck_assert_int_eq(open_note(text, &witness, 1, &err), TB_E_DIFFERENT);
}
END_TEST

#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

START_TEST(checkpoints_are_read_strictly)
{
    static const char *const good[] = {
        "example.com/behind-the-sofa\n20852163\n" ROOT "\n", "o\n9223372036854775807\n" ROOT "\n",
        "o\n1\n" ROOT "\nextension\nanother\n", "a log with spaces\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
    };
    static const char *const wrong[] = {
        "", "o\n", "o\n1\n", "\n1\n" ROOT "\n", "o\n\n" ROOT "\n", "o\n01\n" ROOT "\n", "o\n-1\n" ROOT "\n", "o\n+1\n" ROOT "\n",
        "o\n0x1\n" ROOT "\n", "o\n 1\n" ROOT "\n", "o\n1 \n" ROOT "\n", "o\n9223372036854775808\n" ROOT "\n",
        "o\n99999999999999999999\n" ROOT "\n", "o\n1\n" ROOT, "o\n1\n" ROOT " \n", "o\n1\n\n" ROOT "\n", "o\n1\n" ROOT "\n\n",
        "o\n1\n" ROOT "\n\nx\n", "o\n1\n" ROOT "\nx", "o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n", "o\n0\n" ROOT "\n",
        "o\n1\nAAAA\n",
    };
    tb_checkpoint checkpoint;
    tb_error err;
    tb_buf out;
    tb_buf_init(&out, 4096, NULL);
    for (size_t i = 0; i < N(good); i++) {
        ck_assert_msg(tb_checkpoint_read(text_of(good[i]), &checkpoint, &err) == TB_OK, "%s", good[i]);
        out.len = 0;
        tb_checkpoint_write(&checkpoint, &out);
        ck_assert(out.len == strlen(good[i]) && memcmp(out.data, good[i], out.len) == 0);
    }
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_msg(tb_checkpoint_read(text_of(wrong[i]), &checkpoint, &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert_str_eq(err.field, "checkpoint");
    }
    tb_buf_release(&out);
}
END_TEST

static tb_note_secret secret_of(const char *name, tb_note_type type, uint8_t first)
{
    tb_note_secret secret;
    const uint8_t seed[32] = {first};
    ck_assert_int_eq(tb_note_secret_make(name, strlen(name), type, seed, &secret, NULL), TB_OK);
    return secret;
}

static void sign_checkpoint(int64_t size, const tb_note_secret *secret, tb_buf *out)
{
    const tb_merkle_hash root = tb_merkle_leaf("entry", 5);
    const tb_checkpoint checkpoint = {.origin = text_of("example.com/log"), .size = size, .root = root};
    tb_checkpoint_sign(&checkpoint, secret, out);
    ck_assert_int_eq(tb_buf_check(out, NULL), TB_OK);
}

START_TEST(a_checkpoint_is_opened_by_its_logs_key_alone)
{
    const tb_note_secret log = secret_of("example.com/log", TB_NOTE_ED25519, 1), other = secret_of("example.com/other", TB_NOTE_ED25519, 1),
                         witness = secret_of("example.com/log", TB_NOTE_COSIGNATURE, 1);
    const tb_note_secret *const signs[] = {&log, &other, &witness};
    for (size_t i = 0; i < N(signs); i++) {
        tb_buf out;
        tb_note note;
        tb_checkpoint checkpoint;
        tb_note_signer signer = {.key = signs[i]->key};
        tb_error err;
        tb_buf_init(&out, 4096, NULL);
        sign_checkpoint(7, signs[i], &out);
        ck_assert_int_eq(tb_note_read(out.data, out.len, &note, NULL), TB_OK);
        ck_assert_int_eq(tb_note_open(&note, &signer, 1, NULL), TB_OK);
        ck_assert_int_eq(tb_checkpoint_open(&note, &signer, 1, &checkpoint, &err), i ? TB_E_NOT_FOUND : TB_OK);
        ck_assert(signer.has_signed == (i == 0));
        if (i == 0) ck_assert_int_eq(checkpoint.size, 7);
        tb_buf_release(&out);
    }
}
END_TEST

/* Keys of one name are told apart by their IDs, and a key that did not sign helps no other. */
START_TEST(who_did_not_sign_did_not_sign)
{
    const tb_note_secret log = secret_of("example.com/log", TB_NOTE_ED25519, 1), next = secret_of("example.com/log", TB_NOTE_ED25519, 9),
                         witness = secret_of("w", TB_NOTE_COSIGNATURE, 2);
    tb_buf out, text;
    tb_note note;
    tb_checkpoint checkpoint;
    tb_error err;
    tb_buf_init(&out, 4096, NULL);
    tb_buf_init(&text, 4096, NULL);
    sign_checkpoint(7, &next, &out);
    ck_assert_int_eq(tb_note_read(out.data, out.len, &note, NULL), TB_OK);
    tb_buf_add(&text, note.text.data, note.text.len);
    const tb_text signed_text = {text.data, text.len};
    tb_note_sign(&witness, signed_text, 2000, &out);
    tb_note_sign(&witness, signed_text, 1000, &out);
    ck_assert_int_eq(tb_note_read(out.data, out.len, &note, NULL), TB_OK);
    tb_note_signer signers[] = {{.key = log.key}, {.key = witness.key}, {.key = next.key}};
    ck_assert_int_eq(tb_note_open(&note, signers, 2, &err), TB_OK);
    ck_assert(!signers[0].has_signed && signers[1].has_signed);
    ck_assert_int_eq(signers[1].time_s, 2000);
    ck_assert_int_eq(tb_checkpoint_open(&note, signers, 2, &checkpoint, &err), TB_E_NOT_FOUND);
    ck_assert_int_eq(tb_checkpoint_open(&note, signers, 3, &checkpoint, &err), TB_OK);
    ck_assert(!signers[0].has_signed && signers[1].has_signed && signers[2].has_signed);
    tb_buf_release(&out);
    tb_buf_release(&text);
}
END_TEST

/* --- witnesses --- */

START_TEST(a_witness_is_asked_and_its_answer_added)
{
    const tb_note_secret log = secret_of("example.com/log", TB_NOTE_ED25519, 1), witness = secret_of("witness.example/w1", TB_NOTE_COSIGNATURE, 2),
                         stranger = secret_of("witness.example/w2", TB_NOTE_COSIGNATURE, 3);
    tb_buf signed_, answer, once, twice, ask;
    tb_note note;
    tb_error err;
    tb_merkle_proof proof = {.n = 1, .hashes = {tb_merkle_leaf("entry", 5)}};
    tb_buf *const buffers[] = {&signed_, &answer, &once, &twice, &ask};
    for (size_t i = 0; i < N(buffers); i++)
        tb_buf_init(buffers[i], 8192, NULL);
    sign_checkpoint(7, &log, &signed_);
    const tb_text checkpoint = {signed_.data, signed_.len};
    ck_assert_int_eq(tb_note_read(signed_.data, signed_.len, &note, NULL), TB_OK);

    tb_witness_ask(5, &proof, checkpoint, &ask);
    char base64[TB_MERKLE_BASE64], expected[128];
    tb_merkle_write(&proof.hashes[0], base64);
    const int head = snprintf(expected, sizeof expected, "old 5\n%s\n\n", base64);
    ck_assert_uint_eq(ask.len, (size_t)head + signed_.len);
    ck_assert(memcmp(ask.data, expected, (size_t)head) == 0 && memcmp(ask.data + head, signed_.data, signed_.len) == 0);

    tb_note_sign(&stranger, note.text, 1000, &answer);
    ck_assert_int_eq(tb_witness_add(checkpoint, (tb_text){answer.data, answer.len}, &witness.key, &once, &err), TB_E_NOT_FOUND);
    tb_note_sign(&witness, note.text, 1001, &answer);
    ck_assert_int_eq(tb_witness_add(checkpoint, (tb_text){answer.data, answer.len}, &witness.key, &once, &err), TB_OK);
    tb_note_signer signers[] = {{.key = log.key}, {.key = witness.key}, {.key = stranger.key}};
    tb_checkpoint opened;
    ck_assert_int_eq(tb_note_read(once.data, once.len, &note, NULL), TB_OK);
    ck_assert_int_eq(tb_checkpoint_open(&note, signers, 3, &opened, &err), TB_OK);
    ck_assert(signers[0].has_signed && signers[1].has_signed && !signers[2].has_signed);
    ck_assert_int_eq(signers[1].time_s, 1001);

    /* A later answer of the same witness takes the place of the first. */
    answer.len = 0;
    tb_note_sign(&witness, note.text, 1002, &answer);
    ck_assert_int_eq(tb_witness_add((tb_text){once.data, once.len}, (tb_text){answer.data, answer.len}, &witness.key, &twice, &err), TB_OK);
    ck_assert_uint_eq(twice.len, once.len);
    ck_assert_int_eq(tb_note_read(twice.data, twice.len, &note, NULL), TB_OK);
    ck_assert_int_eq(tb_checkpoint_open(&note, signers, 3, &opened, &err), TB_OK);
    ck_assert(note.n_signatures == 2 && signers[1].time_s == 1002);

    /* One of another text, something else, nothing. */
    answer.len = 0;
    tb_note_sign(&witness, text_of("another\n1\n" ROOT "\n"), 1001, &answer);
    ck_assert_int_eq(tb_witness_add(checkpoint, (tb_text){answer.data, answer.len}, &witness.key, &once, &err), TB_E_DIFFERENT);
    ck_assert_int_eq(tb_witness_add(checkpoint, text_of("<html>\n"), &witness.key, &once, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_witness_add(checkpoint, text_of(""), &witness.key, &once, &err), TB_E_VALIDATION);
    for (size_t i = 0; i < N(buffers); i++)
        tb_buf_release(buffers[i]);
}
END_TEST

START_TEST(a_full_checkpoint_takes_no_cosignature)
{
    const tb_note_secret log = secret_of("example.com/log", TB_NOTE_ED25519, 1), witness = secret_of("w", TB_NOTE_COSIGNATURE, 2);
    tb_buf full, answer, out;
    tb_note note;
    tb_error err;
    tb_buf_init(&full, TB_NOTE_MAX, NULL);
    tb_buf_init(&answer, 2 * TB_NOTE_MAX, NULL);
    tb_buf_init(&out, TB_NOTE_MAX, NULL);
    sign_checkpoint(7, &log, &full);
    ck_assert_int_eq(tb_note_read(full.data, full.len, &note, NULL), TB_OK);
    tb_note_sign(&witness, note.text, 1, &answer);
    for (int i = 1; i < TB_NOTE_SIGNATURES; i++)
        tb_buf_str(&full, PETER_SIG);
    ck_assert_int_eq(tb_witness_add((tb_text){full.data, full.len}, (tb_text){answer.data, answer.len}, &witness.key, &out, &err), TB_E_TOO_LARGE);
    while (answer.len <= TB_NOTE_MAX) /* in a single line */
        tb_buf_str(&answer, "AAAA");
    ck_assert_int_eq(tb_witness_add((tb_text){full.data, full.len}, (tb_text){answer.data, answer.len}, &witness.key, &out, &err), TB_E_TOO_LARGE);
    ck_assert_uint_eq(out.len, 0);
    tb_buf_release(&full);
    tb_buf_release(&answer);
    tb_buf_release(&out);
}
END_TEST

/* --- proofs as texts --- */

#define H1 "gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n"
#define H2 "B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n"
#define V1 "c2sp.org/tlog-proof@v1\n"

START_TEST(proofs_are_read_and_written)
{
    static const char *const good[] = {
        V1 "extra YWdlLXYxLjIuMS1kYXJ3aW4tYXJtNjQudGFyLmd6\nindex 73894\n" H1 H2 "\nexample.com/fancylog\n109482\n" ROOT "\n\n" PETER_SIG,
        V1 "index 5\n" H1 H2 "\ntest checkpoint\n", V1 "index 0\n\ncheckpoint\n", V1 "index 9223372036854775807\n\nx",
    };
    static const char *const wrong[] = {
        "", V1, V1 "index 5", V1 "index 5\n", V1 "index 5\n" H1, V1 "index 5\n\n", V1 "index 5\n" H1 "checkpoint\n",
        V1 "index 5\n" H1 "x",
        "c2sp.org/tlog-proof@v2\nindex 0\n\nx\n", "wrong-header\nindex 0\n\ncheckpoint\n",
        V1 "extra !!notbase64!!\nindex 0\n\ncheckpoint\n", V1 "extra \nindex 0\n\nx\n", V1 "extra\nindex 0\n\nx\n",
        V1 "\n\ncheckpoint\n", V1 "index notanumber\n\nx\n", V1 "index -5\n\nx\n", V1 "index 05\n\nx\n", V1 "index  5\n\nx\n",
        V1 "index\n\nx\n", V1 "index 9223372036854775808\n\nx\n", V1 "index 0\n!!notbase64!!\n\nx\n", V1 "index 0\nAAAA\n\nx\n",
        V1 "index 0\nextra AAAA\n\nx\n", V1 "extra AAAA\nextra AAAA\nindex 0\n\nx\n", " " V1 "index 0\n\nx\n",
    };
    tb_proof proof;
    tb_error err;
    tb_buf out;
    tb_buf_init(&out, TB_PROOF_TEXT_MAX, NULL);
    for (size_t i = 0; i < N(good); i++) {
        ck_assert_msg(tb_proof_read(good[i], strlen(good[i]), &proof, &err) == TB_OK, "%s", err.message);
        ck_assert_uint_eq(proof.path.n, i < 2 ? 2 : 0);
        ck_assert((proof.extra.data != NULL) == (i == 0));
        out.len = 0;
        tb_proof_write(&proof, &out);
        ck_assert(out.len == strlen(good[i]) && memcmp(out.data, good[i], out.len) == 0);
    }
    for (size_t i = 0; i < N(wrong); i++) {
        ck_assert_msg(tb_proof_read(wrong[i], strlen(wrong[i]), &proof, &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert_str_eq(err.field, "proof");
    }
    for (int n = TB_MERKLE_PROOF_MAX; n <= TB_MERKLE_PROOF_MAX + 1; n++) {
        out.len = 0;
        tb_buf_str(&out, V1 "index 5\n");
        for (int i = 0; i < n; i++)
            tb_buf_str(&out, H1);
        tb_buf_str(&out, "\nx\n");
        ck_assert_int_eq(tb_proof_read(out.data, out.len, &proof, &err), n > TB_MERKLE_PROOF_MAX ? TB_E_VALIDATION : TB_OK);
    }
    ck_assert_int_eq(tb_proof_read(out.data, TB_PROOF_TEXT_MAX + 1, &proof, &err), TB_E_TOO_LARGE);
    tb_buf_release(&out);
}
END_TEST

/* --- memory --- */

/* Fails the n-th allocation; counts what is held. */
typedef struct chaos {
    int left, held;
} chaos;

static void *chaos_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)old;
    chaos *c = ctx;
    if (size == 0) {
        c->held -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (c->left-- == 0) return NULL;
    c->held += ptr == NULL;
    return realloc(ptr, size);
}

START_TEST(every_allocation_may_fail)
{
    const tb_note_secret log = secret_of("example.com/log", TB_NOTE_ED25519, 1), witness = secret_of("w", TB_NOTE_COSIGNATURE, 2);
    const tb_merkle_hash root = tb_merkle_leaf("entry", 5);
    const tb_checkpoint checkpoint = {.origin = text_of("example.com/log"), .size = 1, .root = root};
    char answer[256], asked[512];
    tb_buf line, text;
    tb_buf_init(&line, sizeof answer, NULL);
    tb_buf_init(&text, sizeof asked, NULL);
    tb_checkpoint_write(&checkpoint, &text);
    tb_note_sign(&witness, (tb_text){text.data, text.len}, 5, &line);
    text.len = 0;
    tb_checkpoint_sign(&checkpoint, &log, &text);
    int fails = 0;
    for (bool done = false; !done; fails++) {
        chaos c = {.left = fails};
        const tb_alloc alloc = {chaos_resize, &c};
        tb_buf out;
        tb_error err;
        tb_buf_init(&out, 8192, &alloc);
        tb_checkpoint_sign(&checkpoint, &log, &out);
        const tb_code code = tb_witness_add((tb_text){text.data, text.len}, (tb_text){line.data, line.len}, &witness.key, &out, &err);
        if (code) ck_assert_int_eq(code, TB_E_NOMEM);
        ck_assert_int_le(c.held, 1);
        done = code == TB_OK;
        if (done) ck_assert_uint_eq(out.len, 2 * text.len + line.len);
        tb_buf_release(&out);
        ck_assert_int_eq(c.held, 0);
    }
    ck_assert_int_gt(fails, 2);
    tb_buf_release(&line);
    tb_buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proof note");
    TCase *tc = tcase_create("notes");
    tcase_add_test(tc, verifier_keys_are_read_and_written);
    tcase_add_test(tc, mangled_keys_are_refused);
    tcase_add_test(tc, a_secret_key_is_made_and_written);
    tcase_add_test(tc, names_have_no_spaces_and_plus_signs);
    tcase_add_test(tc, the_note_of_go_is_signed_and_opened);
    tcase_add_test(tc, a_wrong_signature_refuses_the_note);
    tcase_add_test(tc, what_is_no_note_is_refused);
    tcase_add_test(tc, notes_have_their_bounds);
    tcase_add_test(tc, published_checkpoints_are_opened);
    tcase_add_test(tc, a_cosignature_is_of_its_time_and_text);
    tcase_add_test(tc, checkpoints_are_read_strictly);
    tcase_add_test(tc, a_checkpoint_is_opened_by_its_logs_key_alone);
    tcase_add_test(tc, who_did_not_sign_did_not_sign);
    tcase_add_test(tc, a_full_checkpoint_takes_no_cosignature);
    tcase_add_test(tc, a_witness_is_asked_and_its_answer_added);
    tcase_add_test(tc, proofs_are_read_and_written);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
