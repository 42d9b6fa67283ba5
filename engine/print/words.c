/* Tables. Countries are those that invoices go to most; all others are shown by their code, which
 * is what post and tax offices read. */
#include "print/words.h"

#include <stddef.h>
#include <string.h>

static const char *const word_table[TB__WORD_COUNT][TB__LANGUAGES] = {
#define TB_X(e, english, german) [TB__WORD_##e] = {english, german},
    TB__WORDS(TB_X)
#undef TB_X
};

const char *tb__word_of(tb__language language, tb__word word)
{
    return word_table[word][language];
}

void tb__add_word(tb_buf *out, tb__language language, tb__word word)
{
    tb_buf_str(out, tb__word_of(language, word));
}

void tb__add_filled(tb_buf *out, tb__language language, tb__word word, const char *const *with)
{
    for (const char *at = tb__word_of(language, word); *at; at++) {
        if (at[0] == '%' && at[1] == 's') {
            tb_buf_str(out, *with++);
            at++;
        } else {
            tb_buf_add(out, at, 1);
        }
    }
}

typedef struct country {
    char code[3];
    const char *name[TB__LANGUAGES];
} country;

static const country country_table[] = {
    {"AE", {"United Arab Emirates", "Vereinigte Arabische Emirate"}},
    {"AR", {"Argentina", "Argentinien"}},
    {"AT", {"Austria", "\u00d6sterreich"}},
    {"AU", {"Australia", "Australien"}},
    {"BE", {"Belgium", "Belgien"}},
    {"BG", {"Bulgaria", "Bulgarien"}},
    {"BR", {"Brazil", "Brasilien"}},
    {"CA", {"Canada", "Kanada"}},
    {"CH", {"Switzerland", "Schweiz"}},
    {"CL", {"Chile", "Chile"}},
    {"CN", {"China", "China"}},
    {"CY", {"Cyprus", "Zypern"}},
    {"CZ", {"Czechia", "Tschechien"}},
    {"DE", {"Germany", "Deutschland"}},
    {"DK", {"Denmark", "D\u00e4nemark"}},
    {"EE", {"Estonia", "Estland"}},
    {"EG", {"Egypt", "\u00c4gypten"}},
    {"ES", {"Spain", "Spanien"}},
    {"FI", {"Finland", "Finnland"}},
    {"FR", {"France", "Frankreich"}},
    {"GB", {"United Kingdom", "Vereinigtes K\u00f6nigreich"}},
    {"GR", {"Greece", "Griechenland"}},
    {"HK", {"Hong Kong", "Hongkong"}},
    {"HR", {"Croatia", "Kroatien"}},
    {"HU", {"Hungary", "Ungarn"}},
    {"ID", {"Indonesia", "Indonesien"}},
    {"IE", {"Ireland", "Irland"}},
    {"IL", {"Israel", "Israel"}},
    {"IN", {"India", "Indien"}},
    {"IS", {"Iceland", "Island"}},
    {"IT", {"Italy", "Italien"}},
    {"JP", {"Japan", "Japan"}},
    {"KE", {"Kenya", "Kenia"}},
    {"KR", {"South Korea", "S\u00fcdkorea"}},
    {"KW", {"Kuwait", "Kuwait"}},
    {"LI", {"Liechtenstein", "Liechtenstein"}},
    {"LT", {"Lithuania", "Litauen"}},
    {"LU", {"Luxembourg", "Luxemburg"}},
    {"LV", {"Latvia", "Lettland"}},
    {"MT", {"Malta", "Malta"}},
    {"MX", {"Mexico", "Mexiko"}},
    {"MY", {"Malaysia", "Malaysia"}},
    {"NG", {"Nigeria", "Nigeria"}},
    {"NL", {"Netherlands", "Niederlande"}},
    {"NO", {"Norway", "Norwegen"}},
    {"NZ", {"New Zealand", "Neuseeland"}},
    {"PH", {"Philippines", "Philippinen"}},
    {"PL", {"Poland", "Polen"}},
    {"PT", {"Portugal", "Portugal"}},
    {"RO", {"Romania", "Rum\u00e4nien"}},
    {"RS", {"Serbia", "Serbien"}},
    {"SA", {"Saudi Arabia", "Saudi-Arabien"}},
    {"SE", {"Sweden", "Schweden"}},
    {"SG", {"Singapore", "Singapur"}},
    {"SI", {"Slovenia", "Slowenien"}},
    {"SK", {"Slovakia", "Slowakei"}},
    {"TH", {"Thailand", "Thailand"}},
    {"TR", {"T\u00fcrkiye", "T\u00fcrkei"}},
    {"TW", {"Taiwan", "Taiwan"}},
    {"UA", {"Ukraine", "Ukraine"}},
    {"US", {"United States", "Vereinigte Staaten"}},
    {"VN", {"Vietnam", "Vietnam"}},
    {"ZA", {"South Africa", "S\u00fcdafrika"}},
};

const char *tb__country_name(tb__language language, const char *code)
{
    for (size_t i = 0; i < sizeof country_table / sizeof *country_table; i++)
        if (strcmp(country_table[i].code, code) == 0) return country_table[i].name[language];
    return code;
}
