/* The walk over a price book's objects: each is walked along a table of its keys, each with a setter that checks and
 * stores the value; the path of the current object grows and shrinks with the walk. */
#include "billing/book_walk.h"

#include <stdio.h>
#include <string.h>

/* --- the path, and refusing at it --- */

/* Keys come from the document: other characters than plain ones are shown as '?', a long key is cut,
 * but not inside a character. Returns the length to go back to. */
size_t tb__book_enter_key(tb__book_parser *p, const char *key, size_t len)
{
    size_t before = p->path_len, room = sizeof p->path - 1;
    if (p->path_len > 0 && p->path_len < room) p->path[p->path_len++] = '.';
    size_t n = len < room - p->path_len ? len : room - p->path_len;
    while (n > 0 && n < len && ((unsigned char)key[n] & 0xC0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        p->path[p->path_len + i] = (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : key[i];
    p->path_len += n;
    p->path[p->path_len] = 0;
    return before;
}

size_t tb__book_enter_index(tb__book_parser *p, size_t index)
{
    char text[24];
    size_t before = p->path_len, room = sizeof p->path - 1 - before;
    size_t n = (size_t)snprintf(text, sizeof text, "[%zu]", index);
    if (n > room) n = room;
    memcpy(p->path + before, text, n);
    p->path_len += n;
    p->path[p->path_len] = 0;
    return before;
}

void tb__book_leave(tb__book_parser *p, size_t before)
{
    p->path_len = before;
    p->path[before] = 0;
}

tb_code tb__book_refuse(const tb__book_parser *p, uint32_t node, const char *message)
{
    tb_fail(p->err, TB_E_BOOK, p->path, "%s", message);
    if (p->err) p->err->byte = (uint64_t)p->doc.nodes[node].at + 1;
    return TB_E_BOOK;
}

tb_code tb__book_refuse_type(const tb__book_parser *p, uint32_t node, const char *wanted)
{
    char message[96];
    snprintf(message, sizeof message, "Must be %s, is %s.", wanted, tb__node_type_name(p->doc.nodes[node].type));
    return tb__book_refuse(p, node, message);
}

/* Refuses a member of the object at p's path. */
tb_code tb__book_refuse_member(tb__book_parser *p, uint32_t object, const char *key, const char *message)
{
    tb__book_enter_key(p, key, strlen(key));
    return tb__book_refuse(p, object, message);
}

/* --- walking --- */

static const tb__book_key *find_rule(const tb__book_key *rules, size_t n, const tb__node *key)
{
    for (size_t i = 0; i < n; i++)
        if (tb__node_is(key, rules[i].name, strlen(rules[i].name))) return &rules[i];
    return NULL;
}

/* With the key that was meant, for a slip of the pen. */
static tb_code refuse_key(tb__book_parser *p, const tb__book_key *rules, size_t n, uint32_t key)
{
    char words[1024] = "", message[16 + TB_MEANT_MAX], meant[TB_MEANT_MAX];
    const tb__node *name = &p->doc.nodes[key];
    for (size_t i = 0, used = 0; i < n && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? "|" : "", rules[i].name);
    snprintf(message, sizeof message, "Unknown key.%s", tb_meant(words, "", name->text, name->len, meant));
    return tb__book_refuse(p, key, message);
}

tb_code tb__book_walk(tb__book_parser *p, uint32_t object, const tb__book_key *rules, size_t n, void *to)
{
    uint32_t seen = 0;
    if (p->doc.nodes[object].type != TB__OBJECT) return tb__book_refuse_type(p, object, "an object");
    for (uint32_t key = object + 1; key != p->doc.nodes[object].next; key = p->doc.nodes[key + 1].next) {
        size_t before = tb__book_enter_key(p, p->doc.nodes[key].text, p->doc.nodes[key].len);
        const tb__book_key *rule = find_rule(rules, n, &p->doc.nodes[key]);
        if (!rule) return refuse_key(p, rules, n, key);
        tb_code code = rule->set(p, key + 1, (char *)to + rule->offset);
        if (code) return code;
        tb__book_leave(p, before);
        seen |= UINT32_C(1) << (rule - rules);
    }
    for (size_t i = 0; i < n; i++)
        if (rules[i].required && !(seen >> i & 1))
            return tb__book_refuse_member(p, object, rules[i].name, "This key is missing.");
    return TB_OK;
}

/* --- setters --- */

tb_code tb__book_set_id(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    if (!tb__node_is_id(node, sizeof((tb_book *)0)->id - 1))
        return tb__book_refuse(p, value, "Must be 1 to 64 letters, digits, '.', '_' and '-'.");
    memcpy(to, node->text, node->len);
    ((char *)to)[node->len] = 0;
    return TB_OK;
}

tb_code tb__book_set_node(tb__book_parser *p, uint32_t value, void *to)
{
    (void)p;
    *(uint32_t *)to = value;
    return TB_OK;
}

tb_code tb__book_choice(tb__book_parser *p, uint32_t value, const char *const *names, int n, const char *message,
                        int *ret)
{
    const tb__node *node = &p->doc.nodes[value];
    if (node->type != TB__STRING) return tb__book_refuse_type(p, value, "a string");
    for (int i = 0; i < n; i++) {
        if (!tb__node_is(node, names[i], strlen(names[i]))) continue;
        *ret = i;
        return TB_OK;
    }
    return tb__book_refuse(p, value, message);
}

tb_code tb__book_set_decimal(tb__book_parser *p, uint32_t value, void *to)
{
    const tb__node *node = &p->doc.nodes[value];
    tb_error why;
    tb_decimal number;
    if (node->type != TB__STRING && node->type != TB__NUMBER)
        return tb__book_refuse_type(p, value, "a decimal, as a string or a number");
    if (tb_decimal_parse(node->text, node->len, TB_PRICE_SCALE_MAX, &number, &why))
        return tb__book_refuse(p, value, why.message);
    if (tb_decimal_sign(number) < 0) return tb__book_refuse(p, value, "Must not be negative.");
    *(tb_decimal *)to = number;
    return TB_OK;
}

tb_code tb__book_set_price(tb__book_parser *p, uint32_t value, void *to)
{
    tb_decimal price;
    tb_code code = tb__book_set_decimal(p, value, &price);
    if (code) return code;
    if (!tb__price_is_safe(price, TB_DECIMAL_ZERO, 0))
        return tb__book_refuse(p, value, "10^18 units at this price pass 2^127-1.");
    *(tb_decimal *)to = price;
    return TB_OK;
}

tb_code tb__book_set_given(tb__book_parser *p, uint32_t value, void *to)
{
    tb__book_price *price = to;
    price->given = true;
    return tb__book_set_price(p, value, &price->value);
}
