/* One pass over the bytes with a stack of open objects and arrays (no recursion). The grammar is split into two
 * alternating steps: start a value, then go on to the place of the next value, closing containers that end.
 * Duplicate keys are found when an object closes: pair by pair in small objects, by sorting in large ones. */
#include "model/document.h"

#include "base/jsontext.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *text;
    size_t len, at;
    tb__document doc;
    uint32_t open[TB__DOCUMENT_DEPTH];
    unsigned depth;
    bool fresh; /* the innermost open value has no content yet */
    tb_code code;
    tb_error *err;
} reader;

static tb_code fail_at(const reader *r, size_t at, const char *message)
{
    tb_fail(r->err, r->code, NULL, "%s", message);
    if (r->err) r->err->byte = at + 1;
    return r->code;
}

const char *tb__node_type_name(uint32_t type)
{
    static const char *const names[] = {"null",     "false",    "true",     "a number",
                                        "a string", "an array", "an object"};
    return names[type];
}

/* --- decimals --- */

#define EXPONENT_MAX 36

/* The digits of an exponent after 'e', with their sign; false past EXPONENT_MAX. */
static bool parse_exponent(const char *text, size_t len, int *ret)
{
    bool negative = len && text[0] == '-';
    int value = 0;
    if (len && (text[0] == '-' || text[0] == '+')) text++, len--;
    for (size_t i = 0; i < len; i++) {
        value = value * 10 + (text[i] - '0');
        if (value > EXPONENT_MAX) return false;
    }
    *ret = negative ? -value : value;
    return true;
}

bool tb__node_decimal(const tb__node *node, int max_scale, tb_decimal *ret)
{
    if (node->type != TB__NUMBER && node->type != TB__STRING) return false;
    size_t len = node->len;
    int exponent = 0;
    if (node->type == TB__NUMBER) {
        const char *e = memchr(node->text, 'e', len);
        if (!e) e = memchr(node->text, 'E', len);
        if (e && !parse_exponent(e + 1, (size_t)(node->text + len - e - 1), &exponent))
            return false;
        if (e) len = (size_t)(e - node->text);
    }
    tb_decimal value;
    if (tb_decimal_parse(node->text, len, TB_DECIMAL_SCALE_MAX, &value, NULL) ||
        tb_decimal_shift(value, -exponent, &value, NULL))
        return false;
    value = tb_decimal_normal(value);
    if (value.scale > max_scale) return false;
    *ret = value;
    return true;
}

/* --- members of an object, sorted --- */

typedef struct member {
    const char *text;
    uint32_t len;
    uint32_t key; /* node */
} member;

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

#define SMALL_OBJECT 16

static void sort_members(member *members, size_t n)
{
    if (n > SMALL_OBJECT) {
        qsort(members, n, sizeof *members, compare_members);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        member moved = members[i];
        size_t j = i;
        for (; j > 0 && compare_members(&members[j - 1], &moved) > 0; j--)
            members[j] = members[j - 1];
        members[j] = moved;
    }
}

/* Fills members with the object's keys, in document order. */
static void collect_members(const tb__document *doc, uint32_t object, member *members)
{
    uint32_t key = object + 1;
    for (uint32_t i = 0; i < doc->nodes[object].len; i++) {
        members[i] = (member){doc->nodes[key].text, doc->nodes[key].len, key};
        key = doc->nodes[key + 1].next;
    }
}

/* --- reading --- */

static tb_code add_node(reader *r, uint32_t type, const char *text, size_t len, size_t at)
{
    tb__document *doc = &r->doc;
    if (doc->n == doc->cap) {
        size_t cap = doc->cap ? doc->cap * 2 : 64;
        if (cap > TB__DOCUMENT_NODES) return fail_at(r, at, "The document holds too many values.");
        void *nodes = tb_alloc_resize(doc->alloc, doc->nodes, doc->cap * sizeof *doc->nodes,
                                      cap * sizeof *doc->nodes);
        if (!nodes) return tb_no_memory(r->err);
        doc->nodes = nodes;
        doc->cap = cap;
    }
    doc->nodes[doc->n] = (tb__node){text, (uint32_t)len, (uint32_t)doc->n + 1, (uint32_t)at, type};
    doc->n++;
    return TB_OK;
}

static void skip_space(reader *r)
{
    while (r->at < r->len && (r->text[r->at] == ' ' || r->text[r->at] == '\n' ||
                              r->text[r->at] == '\r' || r->text[r->at] == '\t'))
        r->at++;
}

/* The next byte, or 0 at the end (a NUL in the text is as wrong as the end everywhere). */
static char peek(const reader *r)
{
    return r->at < r->len ? r->text[r->at] : 0;
}

static size_t digits(reader *r)
{
    size_t start = r->at;
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    return r->at - start;
}

static tb_code read_number(reader *r)
{
    size_t start = r->at;
    if (peek(r) == '-') r->at++;
    bool zero = peek(r) == '0';
    size_t whole = digits(r);
    if (whole == 0 || (zero && whole > 1)) return fail_at(r, start, "Not a JSON number.");
    if (peek(r) == '.') {
        r->at++;
        if (digits(r) == 0) return fail_at(r, r->at, "A digit must follow the point.");
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        r->at++;
        if (peek(r) == '+' || peek(r) == '-') r->at++;
        if (digits(r) == 0) return fail_at(r, r->at, "The exponent has no digit.");
    }
    if (r->at - start > TB__NUMBER_MAX) return fail_at(r, start, "The number is too long.");
    return add_node(r, TB__NUMBER, r->text + start, r->at - start, start);
}

/* From after the opening quote to the closing one. */
static tb_code scan_string(reader *r, bool *ret_escaped)
{
    bool escaped = false;
    for (;;) {
        r->at += tb__plain_run(r->text + r->at, r->len - r->at);
        if (r->at == r->len) break;
        unsigned char byte = (unsigned char)r->text[r->at];
        if (byte == '"') {
            *ret_escaped = escaped;
            return TB_OK;
        }
        if (byte < 0x20) return fail_at(r, r->at, "A control character must be escaped.");
        size_t step = tb__utf8_step(r->text + r->at, r->len - r->at);
        if (step == 0) return fail_at(r, r->at, "Not UTF-8.");
        if (byte == '\\') {
            escaped = true;
            step = 2; /* past the escaped character; decode judges it */
            if (r->at + 1 >= r->len || (unsigned char)r->text[r->at + 1] < 0x20) break;
            if ((unsigned char)r->text[r->at + 1] >= 0x80)
                return fail_at(r, r->at, "Not an escape.");
        }
        r->at += step;
    }
    return fail_at(r, r->at, "The string does not end.");
}

/* Decodes start..end of the document. What it makes is never longer. */
static tb_code decode(reader *r, size_t start, size_t end, const char **ret_text, size_t *ret_len)
{
    char *text = tb__arena_take(r->doc.strings, end - start);
    if (!text) return tb_no_memory(r->err);
    char *out = text;
    const char *stop = r->text + end;
    for (const char *p = r->text + start; p < stop;) {
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        size_t step = tb__unescape(p, stop, &out);
        if (step == 0) return fail_at(r, (size_t)(p - r->text), "Not an escape.");
        p += step;
    }
    *ret_text = text;
    *ret_len = (size_t)(out - text);
    tb__arena_trim(r->doc.strings, end - start, *ret_len);
    return TB_OK;
}

static tb_code read_string(reader *r)
{
    size_t start = ++r->at;
    bool escaped = false;
    tb_code code = scan_string(r, &escaped);
    if (code) return code;
    size_t end = r->at++;
    const char *text = r->text + start;
    size_t len = end - start;
    if (escaped) code = decode(r, start, end, &text, &len);
    return code ? code : add_node(r, TB__STRING, text, len, start - 1);
}

static tb_code read_word(reader *r, const char *word, size_t len, uint32_t type)
{
    if (r->len - r->at < len || memcmp(r->text + r->at, word, len) != 0)
        return fail_at(r, r->at, "Not a JSON value.");
    r->at += len;
    return add_node(r, type, NULL, 0, r->at - len);
}

static tb_code open_container(reader *r, uint32_t type)
{
    if (r->depth == TB__DOCUMENT_DEPTH)
        return fail_at(r, r->at, "The document is nested too deeply.");
    r->open[r->depth++] = (uint32_t)r->doc.n;
    r->fresh = true;
    return add_node(r, type, NULL, 0, r->at++);
}

static tb_code start_value(reader *r)
{
    skip_space(r);
    r->fresh = false;
    switch (peek(r)) {
    case '{': return open_container(r, TB__OBJECT);
    case '[': return open_container(r, TB__ARRAY);
    case '"': return read_string(r);
    case 't': return read_word(r, "true", 4, TB__TRUE);
    case 'f': return read_word(r, "false", 5, TB__FALSE);
    case 'n': return read_word(r, "null", 4, TB__NULL);
    default: break;
    }
    if (peek(r) == '-' || (peek(r) >= '0' && peek(r) <= '9')) return read_number(r);
    if (r->at == r->len) return fail_at(r, r->at, "The document ends where a value is expected.");
    return fail_at(r, r->at, "Not a JSON value.");
}

static tb_code fail_duplicate(reader *r, uint32_t key)
{
    return fail_at(r, r->doc.nodes[key].at, "Duplicate key.");
}

static tb_code check_small(reader *r, uint32_t object)
{
    member members[SMALL_OBJECT];
    uint32_t n = r->doc.nodes[object].len;
    collect_members(&r->doc, object, members);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (members[i].len == members[j].len &&
                memcmp(members[i].text, members[j].text, members[i].len) == 0)
                return fail_duplicate(r, members[i].key);
    return TB_OK;
}

static tb_code check_large(reader *r, uint32_t object)
{
    size_t n = r->doc.nodes[object].len;
    member *members = tb_alloc_resize(r->doc.alloc, NULL, 0, n * sizeof *members);
    if (!members) return tb_no_memory(r->err);
    collect_members(&r->doc, object, members);
    sort_members(members, n);
    tb_code code = TB_OK;
    for (size_t i = 1; i < n && !code; i++) {
        if (compare_members(&members[i - 1], &members[i]) != 0) continue;
        uint32_t a = members[i - 1].key, b = members[i].key;
        code = fail_duplicate(r, a > b ? a : b);
    }
    tb_alloc_free(r->doc.alloc, members, n * sizeof *members);
    return code;
}

static tb_code close_container(reader *r)
{
    uint32_t node = r->open[--r->depth];
    r->doc.nodes[node].next = (uint32_t)r->doc.n;
    r->at++;
    r->fresh = false;
    if (r->doc.nodes[node].type == TB__ARRAY) return TB_OK;
    return r->doc.nodes[node].len <= SMALL_OBJECT ? check_small(r, node) : check_large(r, node);
}

static tb_code read_key(reader *r)
{
    skip_space(r);
    if (peek(r) != '"') return fail_at(r, r->at, "A key is expected here.");
    tb_code code = read_string(r);
    if (code) return code;
    skip_space(r);
    if (peek(r) != ':') return fail_at(r, r->at, "A colon is expected here.");
    r->at++;
    return TB_OK;
}

/* After a value: closes containers that end, and moves to the next value, or sets *ret_done. */
static tb_code go_on(reader *r, bool *ret_done)
{
    while (r->depth > 0) {
        skip_space(r);
        tb__node *top = &r->doc.nodes[r->open[r->depth - 1]];
        bool is_object = top->type == TB__OBJECT;
        if (peek(r) == (is_object ? '}' : ']')) {
            tb_code code = close_container(r);
            if (code) return code;
            continue;
        }
        if (!r->fresh) {
            if (peek(r) != ',') return fail_at(r, r->at, "A comma or the end is expected here.");
            r->at++;
        }
        top->len++;
        *ret_done = false;
        return is_object ? read_key(r) : TB_OK;
    }
    skip_space(r);
    *ret_done = true;
    return r->at == r->len ? TB_OK : fail_at(r, r->at, "Text follows the document.");
}

tb_code tb__document_parse(const char *text, size_t len, tb_code code, tb__arena *strings,
                           const tb_alloc *alloc, tb__document *ret_document, tb_error *err)
{
    reader r = {.text = text, .len = len, .code = code, .err = err};
    r.doc.alloc = alloc;
    r.doc.strings = strings;
    r.doc.size = len;
    if (len > UINT32_MAX) return fail_at(&r, UINT32_MAX, "The document is too long.");
    bool done = false;
    tb_code result = TB_OK;
    while (!done && !result) {
        result = start_value(&r);
        if (!result) result = go_on(&r, &done);
    }
    if (result)
        tb__document_release(&r.doc);
    else
        *ret_document = r.doc;
    return result;
}

void tb__document_release(tb__document *document)
{
    tb_alloc_free(document->alloc, document->nodes, document->cap * sizeof *document->nodes);
    *document = (tb__document){.alloc = document->alloc, .strings = document->strings};
}

/* --- canonical text --- */

typedef struct frame {
    uint32_t child, end; /* array: the next element; where they end */
    size_t first, i, n;  /* object: its members in the scratch, the next one, how many */
    bool is_object, is_first;
} frame;

typedef struct writer {
    const tb__document *doc;
    char *out;
    member *members; /* of all open objects, a stack */
    size_t n, cap;
    frame frames[TB__DOCUMENT_DEPTH];
    unsigned depth;
} writer;

static bool push_members(writer *w, uint32_t object)
{
    size_t n = w->doc->nodes[object].len;
    if (w->n + n > w->cap) {
        size_t cap = (w->n + n) * 2;
        void *members = tb_alloc_resize(w->doc->alloc, w->members, w->cap * sizeof *w->members,
                                        cap * sizeof *w->members);
        if (!members) return false;
        w->members = members;
        w->cap = cap;
    }
    collect_members(w->doc, object, w->members + w->n);
    sort_members(w->members + w->n, n);
    w->n += n;
    return true;
}

static bool write_open(writer *w, uint32_t index)
{
    const tb__node *node = &w->doc->nodes[index];
    bool is_object = node->type == TB__OBJECT;
    *w->out++ = is_object ? '{' : '[';
    frame *f = &w->frames[w->depth++];
    *f = (frame){.child = index + 1, .end = node->next, .is_object = is_object, .is_first = true};
    f->first = w->n;
    f->n = is_object ? node->len : 0;
    return f->n == 0 || push_members(w, index);
}

static bool write_value(writer *w, uint32_t index)
{
    const tb__node *node = &w->doc->nodes[index];
    switch (node->type) {
    case TB__OBJECT:
    case TB__ARRAY: return write_open(w, index);
    case TB__STRING: w->out = tb__quote(w->out, node->text, node->len); return true;
    case TB__NUMBER:
        memcpy(w->out, node->text, node->len);
        w->out += node->len;
        return true;
    default: break;
    }
    const char *word = tb__node_type_name(node->type);
    size_t len = strlen(word);
    memcpy(w->out, word, len);
    w->out += len;
    return true;
}

/* Writes the next member or element of the innermost frame, or its end. */
static bool write_step(writer *w)
{
    frame *f = &w->frames[w->depth - 1];
    if (f->is_object ? f->i == f->n : f->child == f->end) {
        *w->out++ = f->is_object ? '}' : ']';
        w->n = f->first;
        w->depth--;
        return true;
    }
    if (!f->is_first) *w->out++ = ',';
    f->is_first = false;
    uint32_t child = f->child;
    if (f->is_object) {
        const member *m = &w->members[f->first + f->i++];
        w->out = tb__quote(w->out, m->text, m->len);
        *w->out++ = ':';
        child = m->key + 1;
    } else {
        f->child = w->doc->nodes[child].next;
    }
    return write_value(w, child);
}

/* Canonical text is never longer than its source, which ends before the next value starts. */
static size_t source_room(const tb__document *doc, uint32_t index)
{
    uint32_t next = doc->nodes[index].next;
    return (next < doc->n ? doc->nodes[next].at : doc->size) - doc->nodes[index].at;
}

char *tb__document_canonical(const tb__document *document, uint32_t node, tb__arena *arena,
                             size_t *ret_len)
{
    size_t room = source_room(document, node) + 1;
    char *text = tb__arena_take(arena, room);
    if (!text) return NULL;
    writer w = {.doc = document, .out = text};
    bool ok = write_value(&w, node);
    while (ok && w.depth > 0)
        ok = write_step(&w);
    tb_alloc_free(document->alloc, w.members, w.cap * sizeof *w.members);
    if (!ok) return NULL;
    *w.out++ = 0;
    tb__arena_trim(arena, room, (size_t)(w.out - text));
    if (ret_len) *ret_len = (size_t)(w.out - text) - 1;
    return text;
}

bool tb__node_is_id(const tb__node *node, size_t most)
{
    if (node->type != TB__STRING || node->len < 1 || node->len > most) return false;
    for (uint32_t i = 0; i < node->len; i++) {
        const char c = node->text[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'))
            return false;
    }
    return true;
}
