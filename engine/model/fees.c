/* Recurring fees as the catalogue declares them on an account, a pull zone or a load balancer. What each costs, a price book
 * says. */
#include <stdio.h>
#include <string.h>

#include "model/declared.h"

static bool refuse_fee(tb__fault *fault, size_t index, const char *member, uint32_t node, const char *wanted)
{
    snprintf(fault->path, sizeof fault->path, "[%zu]%s%.40s", index, *member ? "." : "", member);
    fault->wanted = wanted;
    fault->node = node;
    return false;
}

/* "ip", or {"fee": "ip", "quantity": 3}. */
static bool read_fee(const tb__document *doc, uint32_t at, size_t index, tb__declared_fee *ret, tb__fault *fault)
{
    static const char id_wanted[] = "a fee's id: 1 to 64 letters, digits, '.', '_' and '-'";
    uint32_t id = at, quantity = 0;
    tb_decimal number = {1, 0};
    if (doc->nodes[at].type == TB__OBJECT) {
        id = 0;
        for (uint32_t key = at + 1; key != doc->nodes[at].next; key = doc->nodes[key + 1].next) {
            if (tb__node_is(&doc->nodes[key], "fee", 3))
                id = key + 1;
            else if (tb__node_is(&doc->nodes[key], "quantity", 8))
                quantity = key + 1;
            else {
                tb__fault unknown;
                (void)tb__fault_at_key(doc, &unknown, key, NULL);
                return refuse_fee(fault, index, unknown.path, key, "fee or quantity");
            }
        }
        if (!id) return refuse_fee(fault, index, "fee", at, "given: a fee's id in the price book");
    }
    if (!tb__node_is_id(&doc->nodes[id], TB_FEE_ID_MAX)) return refuse_fee(fault, index, id == at ? "" : "fee", id, id_wanted);
    if (quantity && (!tb__node_decimal(&doc->nodes[quantity], 0, &number) || number.mantissa < 1 ||
                     number.mantissa > TB_FEE_QUANTITY_MAX))
        return refuse_fee(fault, index, "quantity", quantity, "a whole number from 1 to 1000000");
    *ret = (tb__declared_fee){&doc->nodes[id], (int64_t)number.mantissa};
    return true;
}

bool tb__declared_fees(const tb__document *doc, uint32_t value, tb__declared_fee ret[TB_FEES_MAX], size_t *ret_n,
                       tb__fault *fault)
{
    size_t n = 0;
    *ret_n = 0;
    if (doc->nodes[value].type != TB__ARRAY) {
        *fault = (tb__fault){.wanted = "a list of fees", .node = value};
        return false;
    }
    for (uint32_t at = value + 1; at != doc->nodes[value].next; at = doc->nodes[at].next, n++) {
        if (n == TB_FEES_MAX) return refuse_fee(fault, n, "", at, "one of at most 256 fees");
        if (!read_fee(doc, at, n, &ret[n], fault)) return false;
        for (size_t i = 0; i < n; i++)
            if (ret[i].id->len == ret[n].id->len && memcmp(ret[i].id->text, ret[n].id->text, ret[n].id->len) == 0)
                return refuse_fee(fault, n, "", at, "another fee than those before it; give a quantity for several");
    }
    *ret_n = n;
    return true;
}
