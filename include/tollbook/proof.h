/* The transparency log of documents, its pure part: Merkle trees, tiles, signed notes, checkpoints, proofs and entries.
 * Nothing here reads a file, the clock or a random number: tiles come from a callback, and times, seeds and salts are
 * arguments.
 *
 * Sources of the rules: RFC 6962 (2.1: hashes and proofs), RFC 9162 (2.1.3.2, 2.1.4.2: verification), and the
 * specifications c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature, tlog-tiles, tlog-proof and tlog-witness.
 *
 * Sizes and indexes count entries, from 0 to INT64_MAX. base64 is the standard one of RFC 4648: padded, without line ends,
 * unused bits 0. Numbers are decimal without leading zeros. A text of a stranger is read in one pass, without recursion, within a
 * maximum that stands here. What is read points into the text that the caller gave and has to keep. */
#ifndef TOLLBOOK_PROOF_H
#define TOLLBOOK_PROOF_H

#include "tollbook/buf.h"

TB_API_BEGIN

/* --- Merkle trees (RFC 6962, 2.1) --- */

/* A SHA-256. */
typedef struct tb_merkle_hash {
    uint8_t bytes[32];
} tb_merkle_hash;

#define TB_MERKLE_ENTRY_MAX 65535 /* bytes of an entry: an entry bundle has 16 bits for its length */
#define TB_MERKLE_PROOF_MAX 64    /* hashes of the longest proof: 63 for inclusion, 64 for consistency */
#define TB_MERKLE_BASE64 45       /* characters of a hash as base64, with the terminator */

/* SHA-256(0x00 || entry): what the tree holds of an entry. */
tb_merkle_hash tb_merkle_leaf(const void *entry, size_t len);
/* SHA-256(0x01 || left || right). */
tb_merkle_hash tb_merkle_node(const tb_merkle_hash *left, const tb_merkle_hash *right);
/* The root of a tree without entries: the SHA-256 of nothing. */
tb_merkle_hash tb_merkle_empty(void);
bool tb_merkle_same(const tb_merkle_hash *a, const tb_merkle_hash *b);
/* base64, terminated. */
void tb_merkle_write(const tb_merkle_hash *hash, char out[TB_MERKLE_BASE64]);
/* false: it is not the base64 of 32 bytes. */
bool tb_merkle_read(const char *text, size_t len, tb_merkle_hash *ret);

/* A proof: the hashes in the order of RFC 6962, from the leaf's side up to the root's. */
typedef struct tb_merkle_proof {
    size_t n;
    tb_merkle_hash hashes[TB_MERKLE_PROOF_MAX];
} tb_merkle_proof;

/* Whether the proof shows that the leaf is entry `index` of the tree of `size` entries with this root (RFC 9162,
 * 2.1.3.2). false too where the index or the size is negative, or the index is not below the size. */
bool tb_merkle_includes(int64_t size, const tb_merkle_hash *root, int64_t index, const tb_merkle_hash *leaf,
                        const tb_merkle_proof *proof);
/* Whether the proof shows that the tree of `new_size` entries only added to the one of `old_size` (RFC 9162, 2.1.4.2). The
 * proof is empty where the sizes are the same, and the roots then are too; it is empty where old_size is 0, as
 * c2sp.org/tlog-witness has it, and the old root then is that of no entries. */
bool tb_merkle_extends(int64_t old_size, const tb_merkle_hash *old_root, int64_t new_size, const tb_merkle_hash *new_root,
                       const tb_merkle_proof *proof);

/* --- tiles (c2sp.org/tlog-tiles) --- */

#define TB_TILE_WIDTH 256   /* hashes of a full tile */
#define TB_TILE_LEVELS 8    /* levels 0 to 7 suffice for every size */
#define TB_TILE_ENTRIES (-1) /* the "level" of entry bundles */
#define TB_TILE_PATH 64     /* characters of a path, with the terminator */

/* Tile `index` of a level: hash i of it is the root of the 256^level entries from (index * 256 + i) * 256^level on. A tile
 * of fewer than 256 hashes is partial; one without hashes does not exist. A bundle holds the entries whose hashes are in
 * the tile of level 0 that has its index and width. */
typedef struct tb_tile {
    int32_t level; /* 0 to 63, or TB_TILE_ENTRIES */
    int32_t width; /* 1 to 256 */
    int64_t index;
} tb_tile;

/* The tile's path: "tile/0/x001/x234/067", "tile/1/000.p/17", "tile/entries/003". Terminated. */
void tb_tile_path(const tb_tile *tile, char out[TB_TILE_PATH]);
/* Reads such a path, which begins with "tile/". false: it is none, or is not in its one form. The level may be one that no
 * tree has. */
bool tb_tile_path_read(const char *path, size_t len, tb_tile *ret);
/* How many hashes (or entries) of this level and index a tree of `size` entries has: 0 to 256. */
int32_t tb_tile_width(int64_t size, int32_t level, int64_t index);

/* Reads tiles. `read` writes at least the first tile->width hashes of the tile of this level and index; there is room for
 * TB_TILE_WIDTH. A wider tile has the same ones in front, so a store may keep the widest alone. Its code is handed on, with
 * what it wrote to *err. */
typedef struct tb_tile_reader {
    tb_code (*read)(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err);
    void *ctx;
} tb_tile_reader;

/* Takes tiles that are new or became wider: tile->width hashes. Its code is handed on, likewise. */
typedef struct tb_tile_writer {
    tb_code (*write)(void *ctx, const tb_tile *tile, const tb_merkle_hash *hashes, tb_error *err);
    void *ctx;
} tb_tile_writer;

/* The root of the first `size` entries. Reads at most 8 tiles. TB_E_VALIDATION of "size" where it is negative. */
TB_MUST_USE tb_code tb_merkle_root(const tb_tile_reader *reader, int64_t size, tb_merkle_hash *ret, tb_error *err);
/* The proof that entry `index` is in the tree of the first `size` entries (RFC 6962, 2.1.1). Reads at most 16 tiles.
 * TB_E_VALIDATION of "index" where the tree has no such entry. */
TB_MUST_USE tb_code tb_merkle_prove_entry(const tb_tile_reader *reader, int64_t size, int64_t index, tb_merkle_proof *ret,
                                          tb_error *err);
/* The proof that the tree of `new_size` entries begins with that of `old_size` (RFC 6962, 2.1.2): no hashes where the old
 * size is 0 or the new size. Reads at most 16 tiles. TB_E_VALIDATION of "size" unless 0 <= old_size <= new_size. */
TB_MUST_USE tb_code tb_merkle_prove_growth(const tb_tile_reader *reader, int64_t old_size, int64_t new_size,
                                           tb_merkle_proof *ret, tb_error *err);

/* Where a tree grows: the partial tile of each level. 64 KiB, so not for a thread's stack. A zeroed one is the empty tree.
 * After a failure of a writer its content is undefined: load it again. */
typedef struct tb_merkle_edge {
    int64_t size;
    int64_t written; /* the size whose partial tiles the writer has */
    tb_merkle_hash tiles[TB_TILE_LEVELS][TB_TILE_WIDTH]; /* of level L the first (size >> 8L) % 256 are set */
} tb_merkle_edge;

/* The edge of the tree of the first `size` entries. Reads at most 8 tiles. */
TB_MUST_USE tb_code tb_merkle_edge_load(tb_merkle_edge *edge, int64_t size, const tb_tile_reader *reader, tb_error *err);
/* Adds an entry by its leaf hash. A tile that becomes full is written at once, partial ones by tb_merkle_flush. writer NULL:
 * the tree's root alone is wanted, and nothing can fail below INT64_MAX entries. */
TB_MUST_USE tb_code tb_merkle_append(tb_merkle_edge *edge, const tb_merkle_hash *leaf, const tb_tile_writer *writer,
                                     tb_error *err);
/* Writes the partial tiles that changed since the edge was loaded or flushed. Without this the tiles are not those of
 * edge->size. */
TB_MUST_USE tb_code tb_merkle_flush(tb_merkle_edge *edge, const tb_tile_writer *writer, tb_error *err);
tb_merkle_hash tb_merkle_edge_root(const tb_merkle_edge *edge);

/* Entry bundles: each entry after its length, 16 bits, big-endian. */
#define TB_BUNDLE_MAX (TB_TILE_WIDTH * (TB_MERKLE_ENTRY_MAX + 2)) /* bytes of the largest bundle */

/* Appends an entry of at most TB_MERKLE_ENTRY_MAX bytes; a longer one sets bundle->failed. */
void tb_bundle_add(tb_buf *bundle, const char *entry, size_t len);
/* The entry at *at, which moves behind it and starts at 0. false: there is none; then *at is the length of the bundle,
 * unless the bundle is cut short. */
bool tb_bundle_next(tb_text bundle, size_t *at, tb_text *ret_entry);

/* --- keys of signed notes (c2sp.org/signed-note) --- */

#define TB_NOTE_NAME 255                             /* bytes of a key's name */
#define TB_NOTE_VKEY (TB_NOTE_NAME + 1 + 8 + 1 + 45) /* characters of a verifier key, with the terminator */
#define TB_NOTE_SKEY (12 + TB_NOTE_VKEY)             /* characters of a secret key's text, with the terminator */

/* The types of keys that are known here, by the byte of c2sp.org/signed-note. */
typedef enum tb_note_type {
    TB_NOTE_ED25519 = 0x01,     /* signs the note's text: a log */
    TB_NOTE_COSIGNATURE = 0x04, /* signs "cosignature/v1\ntime N\n" and the text: a witness (c2sp.org/tlog-cosignature) */
} tb_note_type;

/* A key that verifies. Its ID is SHA-256(name || "\n" || type || public key)[:4], big-endian. */
typedef struct tb_note_key {
    char name[TB_NOTE_NAME + 1]; /* not empty, UTF-8 without spaces, '+' and control characters */
    tb_note_type type;
    uint32_t id;
    uint8_t public_key[32];
} tb_note_key;

/* A key that signs. Wipe it after use. */
typedef struct tb_note_secret {
    tb_note_key key;
    uint8_t seed[32]; /* the private key of RFC 8032 */
} tb_note_secret;

/* Reads a verifier key, `name+hexid+base64(type || public key)`, as Go's package note writes it. TB_E_VALIDATION of "vkey":
 * its form, its type, or an ID that is not the key's. */
TB_MUST_USE tb_code tb_note_key_read(const char *vkey, size_t len, tb_note_key *ret, tb_error *err);
/* Terminated. */
void tb_note_key_write(const tb_note_key *key, char out[TB_NOTE_VKEY]);

/* The key of 32 random bytes of the caller's. TB_E_VALIDATION of "name". */
TB_MUST_USE tb_code tb_note_secret_make(const char *name, size_t len, tb_note_type type, const uint8_t seed[32],
                                        tb_note_secret *ret, tb_error *err);
/* Reads the text of a key file: `PRIVATE+KEY+name+hexid+base64(type || seed)`, the form of Go's package note, with or
 * without one newline at the end. TB_E_VALIDATION of "key"; the sentence never quotes the text. */
TB_MUST_USE tb_code tb_note_secret_read(const char *text, size_t len, tb_note_secret *ret, tb_error *err);
/* Terminated, without a newline. Secret: wipe out after use. */
void tb_note_secret_write(const tb_note_secret *secret, char out[TB_NOTE_SKEY]);
/* Overwrites it with zeros. */
void tb_note_secret_wipe(tb_note_secret *secret);

/* --- signed notes --- */

#define TB_NOTE_MAX (256 * 1024) /* bytes of a note */
#define TB_NOTE_TEXT 4096        /* bytes of a text that is signed or verified */
#define TB_NOTE_SIGNATURES 32    /* signature lines of a note; the specification asks for 16 at least */

typedef struct tb_note_signature {
    tb_text line;  /* all of it without its newline: "— name base64" */
    tb_text name;  /* of the key that it says made it */
    tb_text value; /* base64 of the key's ID and the signature */
    uint32_t id;
} tb_note_signature;

/* A note that was taken apart. That says nothing about its signatures: see tb_note_open. */
typedef struct tb_note {
    tb_text text; /* with its last newline, without the blank line before the signatures */
    size_t n_signatures;
    tb_note_signature signatures[TB_NOTE_SIGNATURES];
} tb_note;

/* TB_E_VALIDATION of "note", TB_E_TOO_LARGE. */
TB_MUST_USE tb_code tb_note_read(const char *data, size_t len, tb_note *ret, tb_error *err);

/* Appends a signature line of the text, which ends with a newline: "— name base64(ID || signature)\n", or for a cosignature
 * base64(ID || time, 64 bits || signature). time_s: seconds since 1970, of a cosignature only, not negative. Ed25519 is
 * deterministic: the same arguments give the same line. A text of more than TB_NOTE_TEXT bytes sets out->failed. */
void tb_note_sign(const tb_note_secret *secret, tb_text text, int64_t time_s, tb_buf *out);

/* A key that is trusted, and whether it signed the note that was opened. */
typedef struct tb_note_signer {
    tb_note_key key;
    bool has_signed;
    int64_t time_s; /* of its newest cosignature, seconds since 1970; else 0 */
} tb_note_signer;

/* Verifies the signatures of keys that are among the signers, sets has_signed and time_s of every signer, and ignores
 * signatures of other keys. After a failure no signer is marked.
 *
 * TB_OK: at least one signer signed, and no signature by a signer's name and ID is wrong.
 * TB_E_DIFFERENT of "signature": one is wrong.
 * TB_E_NOT_FOUND of "signature": no signer signed.
 * TB_E_VALIDATION of "key": two signers have the same name and ID.
 * TB_E_TOO_LARGE of "note": the text has more than TB_NOTE_TEXT bytes. */
TB_MUST_USE tb_code tb_note_open(const tb_note *note, tb_note_signer *signers, size_t n, tb_error *err);

/* --- checkpoints (c2sp.org/tlog-checkpoint) --- */

typedef struct tb_checkpoint {
    tb_text origin; /* the log's name, not empty */
    int64_t size;
    tb_merkle_hash root;
    tb_text extensions; /* the lines after the third, each with its newline, none empty; usually there are none */
} tb_checkpoint;

/* Reads the text of a note. TB_E_VALIDATION of "checkpoint". A tree of 0 entries has the root of no entries. */
TB_MUST_USE tb_code tb_checkpoint_read(tb_text text, tb_checkpoint *ret, tb_error *err);
/* Appends the text. */
void tb_checkpoint_write(const tb_checkpoint *checkpoint, tb_buf *out);
/* Appends the checkpoint as a note that the log's key signed: text, blank line, signature. */
void tb_checkpoint_sign(const tb_checkpoint *checkpoint, const tb_note_secret *secret, tb_buf *out);
/* tb_note_open and tb_checkpoint_read. One of the signers that signed has to be the log: an Ed25519 key that has the origin
 * as its name; TB_E_NOT_FOUND of "signature" else. */
TB_MUST_USE tb_code tb_checkpoint_open(const tb_note *note, tb_note_signer *signers, size_t n, tb_checkpoint *ret,
                                       tb_error *err);

/* Witnesses (c2sp.org/tlog-witness). Appends the body of `add-checkpoint`: the size that the witness knows, the proof of
 * growth from there, the signed checkpoint. */
void tb_witness_ask(int64_t old_size, const tb_merkle_proof *proof, tb_text checkpoint, tb_buf *out);
/* Appends the signed checkpoint with the witness's signature out of its answer, which is signature lines. A line of the same
 * key that the checkpoint had already goes. Errors of tb_note_read and tb_note_open: the witness has to have signed. */
TB_MUST_USE tb_code tb_witness_add(tb_text checkpoint, tb_text answer, const tb_note_key *witness, tb_buf *out,
                                   tb_error *err);

/* --- proofs of entries (c2sp.org/tlog-proof@v1) --- */

#define TB_PROOF_TEXT_MAX (TB_NOTE_MAX + 16 * 1024) /* bytes of a proof's text */

typedef struct tb_proof {
    tb_text extra; /* base64 of anything; nothing signs it. data NULL: none */
    int64_t index;
    tb_merkle_proof path;
    tb_text checkpoint; /* the signed note, as it stands in the text */
} tb_proof;

/* Reads the form. It opens neither the checkpoint nor compares hashes: see tb_note_read, tb_checkpoint_open and
 * tb_merkle_includes. TB_E_VALIDATION of "proof", TB_E_TOO_LARGE. */
TB_MUST_USE tb_code tb_proof_read(const char *text, size_t len, tb_proof *ret, tb_error *err);
void tb_proof_write(const tb_proof *proof, tb_buf *out);

/* --- entries: what tollbook's log says --- */

/* X(ENUM, "type", has book and sha256, has commit, has day, has month, may have "of"). An entry is one line of JSON with
 * sorted keys, no blanks and no newline; "type" and "v":1 are in each. */
#define TB_PROOF_ENTRIES(X)                 \
    X(BOOK, "book", 1, 0, 0, 0, 0)          \
    X(USAGE, "usage", 0, 1, 1, 0, 1)        \
    X(INVOICE, "invoice", 0, 1, 0, 1, 0)    \
    X(TERMS, "terms", 0, 1, 0, 1, 0)        \
    X(VOID, "void", 0, 1, 0, 0, 0)

typedef enum tb_proof_type {
#define TB_X(e, name, book, commit, day, month, of) TB_PROOF_##e,
    TB_PROOF_ENTRIES(TB_X)
#undef TB_X
        TB_PROOF_TYPE_COUNT
} tb_proof_type;

#define TB_PROOF_BOOK_ID 64 /* bytes of a book's ID */
#define TB_PROOF_SALT 32    /* random bytes of a commitment */

typedef struct tb_proof_entry {
    tb_proof_type type;
    char book[TB_PROOF_BOOK_ID + 1]; /* BOOK: its ID */
    tb_merkle_hash hash;          /* BOOK: SHA-256 of its canonical text (written as hex); else the commitment (base64) */
    int64_t day;                  /* USAGE: days since 1970, a day of the years 1 to 9999 */
    int64_t month;                /* INVOICE, TERMS: months since January 1970 */
    int64_t of;                   /* USAGE: index of the day's first entry where it was committed again; else -1 */
} tb_proof_entry;

/* "usage". Never NULL. */
const char *tb_proof_type_name(tb_proof_type type);
/* SHA-256(salt || content). It tells nobody who does not have the salt what the content is, or whose. */
tb_merkle_hash tb_proof_commit(const uint8_t salt[TB_PROOF_SALT], const char *content, size_t len);
/* SHA-256 of a text: of a book's canonical one, for its entry. */
tb_merkle_hash tb_proof_digest(const char *text, size_t len);
/* Appends the entry's bytes. Members that its type does not have are not looked at. */
void tb_proof_entry_write(const tb_proof_entry *entry, tb_buf *out);
/* Reads just what tb_proof_entry_write writes: TB_E_VALIDATION of "entry" for everything else. */
TB_MUST_USE tb_code tb_proof_entry_read(const char *text, size_t len, tb_proof_entry *ret, tb_error *err);

TB_API_END

#endif
