/* The table of the parties' fields. */
#include "tollbook/party.h"

static const struct {
    const char *path;
    size_t most;
    const char *term[2]; /* by role */
} fields[TB_PARTY_FIELDS] = {
#define TB_X(e, path, most, seller, buyer) {path, most, {seller, buyer}},
    TB_PARTY_TABLE(TB_X)
#undef TB_X
};

const char *tb_party_path(tb_party_field field)
{
    return fields[field].path;
}

const char *tb_party_term(tb_party_role role, tb_party_field field)
{
    return fields[field].term[role];
}

size_t tb_party_most(tb_party_field field)
{
    return fields[field].most;
}

const char *tb_party_text(const tb_party *party, tb_party_field field)
{
    return party && party->text[field] ? party->text[field] : "";
}
