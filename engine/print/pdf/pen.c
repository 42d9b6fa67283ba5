/* Fonts are a fixed list of families. Where a text does not fit its width, or holds a character
 * outside the plain set, Pango lays it out; the choice depends on the text alone. */
#include "print/pdf/pen.h"

#include "base/hash.h"

#include <hb.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES                                                                                   \
    "Noto Sans,Noto Sans Hebrew,Noto Sans Arabic,Noto Sans Devanagari,Noto Sans Thai,"             \
    "Noto Sans Armenian,Noto Sans Georgian,DejaVu Sans,sans"
#define MONO_FAMILIES "Noto Sans Mono,DejaVu Sans Mono,monospace"
#define PLAIN_END     0x180 /* Latin, Latin-1 and Latin Extended-A */

typedef enum face { FACE_TEXT, FACE_BOLD, FACE_MONO } face;

typedef struct look {
    face face;
    double size;
    tb__colour colour;
} look;

#define INK                                                                                        \
    {                                                                                              \
        0.106, 0.141, 0.188                                                                        \
    }
#define SOFT                                                                                       \
    {                                                                                              \
        0.37, 0.42, 0.48                                                                           \
    }
#define WARN                                                                                       \
    {                                                                                              \
        0.60, 0.20, 0.07                                                                           \
    }
#define PALE                                                                                       \
    {                                                                                              \
        0.92, 0.93, 0.95                                                                           \
    }

static const look look_table[TB__STYLE_COUNT] = {
    [TB__STYLE_TITLE] = {FACE_BOLD, 20, INK},   [TB__STYLE_NUMBER] = {FACE_TEXT, 11, SOFT},
    [TB__STYLE_SENDER] = {FACE_BOLD, 11, INK},  [TB__STYLE_HERO] = {FACE_BOLD, 17, INK},
    [TB__STYLE_HEADING] = {FACE_BOLD, 12, INK}, [TB__STYLE_LABEL] = {FACE_TEXT, 7.5, SOFT},
    [TB__STYLE_BODY] = {FACE_TEXT, 9, INK},     [TB__STYLE_STRONG] = {FACE_BOLD, 9, INK},
    [TB__STYLE_SMALL] = {FACE_TEXT, 7.5, SOFT}, [TB__STYLE_MONO] = {FACE_MONO, 7, INK},
    [TB__STYLE_WARN] = {FACE_TEXT, 8.5, WARN},  [TB__STYLE_WARN_STRONG] = {FACE_BOLD, 9, WARN},
    [TB__STYLE_DUE] = {FACE_BOLD, 10.5, INK},   [TB__STYLE_STAMP] = {FACE_BOLD, 110, PALE},
};

/* What a style is drawn with. */
typedef struct tip {
    PangoFontDescription *description;
    PangoFont *font;
    cairo_scaled_font_t *scaled;
    hb_font_t *shaper; /* font's own */
    double ascent, descent;
    uint8_t has[PLAIN_END / 8]; /* characters that font has */
} tip;

typedef struct stroke {
    tb__ink box;
    tb__style style;
    PangoLayout *layout; /* else glyphs, at (0, baseline) of the box */
    struct stroke *next; /* that has a layout */
    const char *text;
    int len, n_glyphs, n_clusters;
    cairo_glyph_t *glyphs;
    cairo_text_cluster_t *clusters;
} stroke;

/* Glyphs of texts of one style that follow one another: cairo takes them in one call. */
typedef struct batch {
    tb__style style;
    char *text;
    cairo_glyph_t *glyphs;
    cairo_text_cluster_t *clusters;
    size_t len, n_glyphs, n_clusters;
} batch;

#define BATCH_MOST 1024 /* glyphs, and bytes of text; a longer text is drawn alone */
#define KNOWN      4096 /* places for texts that were shaped before; a power of two */

struct tb__pen {
    PangoFontMap *fonts;
    PangoContext *context;
    tip nibs[TB__STYLE_COUNT];
    hb_buffer_t *shaped;
    tb__arena inks;  /* of this document */
    stroke *layouts; /* of this document */
    tb__arena kept;  /* plain texts with shapes that do not depend on the document */
    stroke *known[KNOWN];
    size_t n_known;
    uint64_t seed; /* of their hashes */
    batch batch;
    tb__language language;
    const char *han; /* the language that decides the forms of Han characters */
    size_t unknown;
};

/* --- fonts --- */

static void set_nib(tb__pen *pen, tb__style of)
{
    tip *nib = &pen->nibs[of];
    const look *seen = &look_table[of];
    nib->description = pango_font_description_new();
    pango_font_description_set_family_static(nib->description,
                                             seen->face == FACE_MONO ? MONO_FAMILIES : FAMILIES);
    pango_font_description_set_weight(
        nib->description, seen->face == FACE_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_font_description_set_size(nib->description, (int)(seen->size * PANGO_SCALE));
    nib->font = pango_context_load_font(pen->context, nib->description);
    if (!nib->font) return;
    nib->scaled = pango_cairo_font_get_scaled_font(PANGO_CAIRO_FONT(nib->font));
    nib->shaper = pango_font_get_hb_font(nib->font);
    PangoFontMetrics *metrics = pango_font_get_metrics(nib->font, pango_language_from_string("en"));
    nib->ascent = pango_font_metrics_get_ascent(metrics) / (double)PANGO_SCALE;
    nib->descent = pango_font_metrics_get_descent(metrics) / (double)PANGO_SCALE;
    pango_font_metrics_unref(metrics);
    for (hb_codepoint_t c = 0x20, glyph; c < PLAIN_END; c++)
        if (c != 0x7F && c != 0xAD && hb_font_get_nominal_glyph(nib->shaper, c, &glyph))
            nib->has[c / 8] |= (uint8_t)(1 << c % 8);
}

static void set_context(tb__pen *pen)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(pen->context, options);
    cairo_font_options_destroy(options);
    pango_cairo_context_set_resolution(pen->context, 72);
    pango_context_set_round_glyph_positions(pen->context, FALSE);
    pango_context_set_base_dir(pen->context, PANGO_DIRECTION_LTR);
    pango_context_set_language(pen->context, pango_language_from_string("en"));
}

static tb_code make_batch(batch *made, tb_error *err)
{
    made->text = malloc(BATCH_MOST);
    made->glyphs = calloc(BATCH_MOST, sizeof *made->glyphs);
    made->clusters = calloc(BATCH_MOST, sizeof *made->clusters);
    return made->text && made->glyphs && made->clusters ? TB_OK : tb_no_memory(err);
}

tb_code tb__pen_new(tb__pen **ret_pen, tb_error *err)
{
    tb__pen *pen = calloc(1, sizeof *pen);
    if (!pen) return tb_no_memory(err);
    pen->seed = tb__hash_seed();
    tb__arena_init(&pen->inks, NULL);
    tb__arena_init(&pen->kept, NULL);
    pen->fonts = pango_cairo_font_map_new();
    pen->context = pango_font_map_create_context(pen->fonts);
    pen->shaped = hb_buffer_create();
    set_context(pen);
    tb_code code = make_batch(&pen->batch, err);
    if (code) {
        tb__pen_free(pen);
        return code;
    }
    for (int i = 0; i < TB__STYLE_COUNT; i++) {
        set_nib(pen, (tb__style)i);
        if (pen->nibs[i].scaled) continue;
        tb__pen_free(pen);
        return tb_fail(err, TB_E_IO, NULL,
                       "No font was found. Install one: apt-get install fonts-noto-core");
    }
    *ret_pen = pen;
    return TB_OK;
}

static void drop_layouts(tb__pen *pen)
{
    for (stroke *at = pen->layouts; at; at = at->next)
        g_object_unref(at->layout);
    pen->layouts = NULL;
}

void tb__pen_free(tb__pen *pen)
{
    if (!pen) return;
    drop_layouts(pen);
    for (int i = 0; i < TB__STYLE_COUNT; i++) {
        if (pen->nibs[i].font) g_object_unref(pen->nibs[i].font);
        if (pen->nibs[i].description) pango_font_description_free(pen->nibs[i].description);
    }
    hb_buffer_destroy(pen->shaped);
    g_object_unref(pen->context);
    g_object_unref(pen->fonts);
    tb__arena_release(&pen->inks);
    tb__arena_release(&pen->kept);
    free(pen->batch.text);
    free(pen->batch.glyphs);
    free(pen->batch.clusters);
    free(pen);
}

static void forget_known(tb__pen *pen)
{
    memset(pen->known, 0, sizeof pen->known);
    pen->n_known = 0;
    tb__arena_reset(&pen->kept);
}

void tb__pen_begin(tb__pen *pen, tb__language language, const char *country)
{
    drop_layouts(pen);
    tb__arena_reset(&pen->inks);
    if (pen->n_known > KNOWN / 2 || language != pen->language) forget_known(pen);
    pen->unknown = 0;
    pen->language = language;
    pen->han = strcmp(country, "JP") == 0   ? "ja"
               : strcmp(country, "KR") == 0 ? "ko"
               : strcmp(country, "TW") == 0 ? "zh-tw"
               : strcmp(country, "HK") == 0 ? "zh-hk"
                                            : "zh-cn";
}

size_t tb__pen_unknown(const tb__pen *pen)
{
    return pen->unknown;
}

static const char *language_tag(const tb__pen *pen)
{
    return pen->language == TB__GERMAN ? "de" : "en";
}

/* --- plain text, by HarfBuzz --- */

/* Whether each of its characters is plain and in the font. */
static bool is_plain(const tip *nib, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        uint32_t c = *at;
        if (c >= 0x80) {
            if (c >= 0xC6 || !at[1]) return false;
            c = (c & 0x1F) << 6 | (*++at & 0x3F);
        }
        if (!(nib->has[c / 8] & 1 << c % 8)) return false;
    }
    return true;
}

static bool take_glyphs(tb__pen *pen, stroke *ink)
{
    unsigned n = 0;
    const hb_glyph_info_t *info = hb_buffer_get_glyph_infos(pen->shaped, &n);
    const hb_glyph_position_t *at = hb_buffer_get_glyph_positions(pen->shaped, &n);
    const double baseline = pen->nibs[ink->style].ascent;
    double x = 0;
    ink->glyphs = tb__arena_take(&pen->kept, n * sizeof *ink->glyphs);
    ink->clusters = tb__arena_take(&pen->kept, n * sizeof *ink->clusters);
    if (!ink->glyphs || !ink->clusters) return false;
    for (unsigned i = 0; i < n; i++) {
        ink->glyphs[i] =
            (cairo_glyph_t){info[i].codepoint, x + at[i].x_offset / (double)PANGO_SCALE,
                            baseline - at[i].y_offset / (double)PANGO_SCALE};
        x += at[i].x_advance / (double)PANGO_SCALE;
        if (i == 0 || info[i].cluster != info[i - 1].cluster)
            ink->clusters[ink->n_clusters++] = (cairo_text_cluster_t){0, 0};
        ink->clusters[ink->n_clusters - 1].num_glyphs++;
    }
    for (unsigned i = 0, k = 0; i < n; k++) {
        const unsigned next = i + (unsigned)ink->clusters[k].num_glyphs;
        const unsigned end = next < n ? info[next].cluster : (unsigned)ink->len;
        ink->clusters[k].num_bytes = (int)(end - info[i].cluster);
        i = next;
    }
    ink->n_glyphs = (int)n;
    ink->box.width = x;
    ink->box.height = baseline + pen->nibs[ink->style].descent;
    return true;
}

static bool shape(tb__pen *pen, stroke *ink)
{
    const char *tag = language_tag(pen);
    hb_buffer_clear_contents(pen->shaped);
    hb_buffer_add_utf8(pen->shaped, ink->text, ink->len, 0, ink->len);
    hb_buffer_set_direction(pen->shaped, HB_DIRECTION_LTR);
    hb_buffer_set_script(pen->shaped, HB_SCRIPT_LATIN);
    hb_buffer_set_language(pen->shaped, hb_language_from_string(tag, 2));
    hb_shape(pen->nibs[ink->style].shaper, pen->shaped, NULL, 0);
    return take_glyphs(pen, ink);
}

/* --- any text, by Pango --- */

/* Pango takes the language of a script that is not the context's from the environment. So it is
 * told for each script; Han is written in the forms of the text's own language, or of the buyer's.
 */
static const char *script_language(const tb__pen *pen, GUnicodeScript script, bool kana)
{
    switch (script) {
    case G_UNICODE_SCRIPT_HAN: return kana ? "ja" : pen->han;
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA: return "ja";
    case G_UNICODE_SCRIPT_HANGUL: return "ko";
    case G_UNICODE_SCRIPT_BOPOMOFO: return "zh-tw";
    case G_UNICODE_SCRIPT_ARABIC: return "ar";
    case G_UNICODE_SCRIPT_HEBREW: return "he";
    case G_UNICODE_SCRIPT_CYRILLIC: return "ru";
    case G_UNICODE_SCRIPT_GREEK: return "el";
    case G_UNICODE_SCRIPT_DEVANAGARI: return "hi";
    case G_UNICODE_SCRIPT_BENGALI: return "bn";
    case G_UNICODE_SCRIPT_GURMUKHI: return "pa";
    case G_UNICODE_SCRIPT_ETHIOPIC: return "am";
    case G_UNICODE_SCRIPT_CANADIAN_ABORIGINAL: return "iu";
    default: return NULL;
    }
}

static bool has_kana(const char *text)
{
    for (; *text; text += g_utf8_skip[(guchar)*text]) {
        const GUnicodeScript script = g_unichar_get_script(g_utf8_get_char(text));
        if (script == G_UNICODE_SCRIPT_HIRAGANA || script == G_UNICODE_SCRIPT_KATAKANA) return true;
    }
    return false;
}

static PangoAttrList *attributes(const tb__pen *pen, const char *text)
{
    PangoAttrList *list = pango_attr_list_new();
    const bool kana = has_kana(text);
    for (const char *at = text, *next; *at; at = next) {
        next = at + g_utf8_skip[(guchar)*at];
        const char *tag = script_language(pen, g_unichar_get_script(g_utf8_get_char(at)), kana);
        PangoAttribute *attribute =
            pango_attr_language_new(pango_language_from_string(tag ? tag : language_tag(pen)));
        attribute->start_index = (guint)(at - text);
        attribute->end_index = (guint)(next - text);
        pango_attr_list_change(list, attribute);
    }
    return list;
}

/* Cells begin at their left edge, whatever direction their text runs in. */
static void lay_out(tb__pen *pen, stroke *ink, double most)
{
    PangoLayout *layout = pango_layout_new(pen->context);
    PangoAttrList *list = attributes(pen, ink->text);
    PangoRectangle box;
    pango_layout_set_font_description(layout, pen->nibs[ink->style].description);
    pango_layout_set_attributes(layout, list);
    pango_layout_set_text(layout, ink->text, ink->len);
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    if (pango_layout_get_direction(layout, 0) == PANGO_DIRECTION_RTL)
        pango_layout_set_alignment(layout, PANGO_ALIGN_RIGHT);
    if (most > 0) {
        pango_layout_get_extents(layout, NULL, &box);
        if (box.width > (int)(most * PANGO_SCALE))
            pango_layout_set_width(layout, (int)(most * PANGO_SCALE));
    }
    pango_layout_get_extents(layout, NULL, &box);
    pango_attr_list_unref(list);
    pen->unknown += (size_t)pango_layout_get_unknown_glyphs_count(layout);
    ink->layout = layout;
    ink->next = pen->layouts;
    pen->layouts = ink;
    ink->box.width = (box.x + box.width) / (double)PANGO_SCALE;
    ink->box.height = box.height / (double)PANGO_SCALE;
}

/* --- texts that were shaped before --- */

/* Where the text is known, or will be; NULL: there is no place left. */
static stroke **place_of(tb__pen *pen, tb__style style, const char *text, size_t len)
{
    uint64_t at = XXH3_64bits_withSeed(text, len, pen->seed + (uint64_t)style);
    if (pen->n_known > KNOWN * 3 / 4) return NULL;
    for (;; at++) {
        stroke **place = &pen->known[at & (KNOWN - 1)];
        const stroke *found = *place;
        if (!found) return place;
        if (found->style == style && (size_t)found->len == len &&
            memcmp(found->text, text, len) == 0)
            return place;
    }
}

/* NULL: no memory. */
static stroke *shape_new(tb__pen *pen, tb__style style, const char *text, size_t len)
{
    stroke *made = tb__arena_take(&pen->kept, sizeof *made);
    char *copy = tb__arena_take(&pen->kept, len + 1);
    if (!made || !copy) return NULL;
    memcpy(copy, text, len + 1);
    *made = (stroke){.style = style, .text = copy, .len = (int)len};
    return shape(pen, made) ? made : NULL;
}

static const stroke *shape_plain(tb__pen *pen, tb__style style, const char *text)
{
    const size_t len = strlen(text);
    stroke **place = place_of(pen, style, text, len);
    if (!place) return shape_new(pen, style, text, len);
    if (!*place) {
        *place = shape_new(pen, style, text, len);
        pen->n_known += *place != NULL;
    }
    return *place;
}

/* --- inks --- */

const tb__ink *tb__pen_ink(tb__pen *pen, tb__style style, const char *text, double most)
{
    if (is_plain(&pen->nibs[style], text)) {
        const stroke *plain = shape_plain(pen, style, text);
        if (!plain) return NULL;
        const bool fits = most <= 0 || plain->box.width <= most;
        if (fits && plain->n_glyphs <= BATCH_MOST && plain->len <= BATCH_MOST) return &plain->box;
    }
    stroke *made = tb__arena_take(&pen->inks, sizeof *made);
    if (!made) return NULL;
    *made = (stroke){.style = style, .text = text, .len = (int)strlen(text)};
    lay_out(pen, made, most);
    return &made->box;
}

/* --- drawing --- */

static void set_colour(cairo_t *cr, tb__style style)
{
    const tb__colour *colour = &look_table[style].colour;
    cairo_set_source_rgb(cr, colour->red, colour->green, colour->blue);
}

void tb__pen_flush(tb__pen *pen, cairo_t *cr)
{
    batch *b = &pen->batch;
    if (b->n_glyphs == 0) return;
    set_colour(cr, b->style);
    cairo_set_scaled_font(cr, pen->nibs[b->style].scaled);
    cairo_show_text_glyphs(cr, b->text, (int)b->len, b->glyphs, (int)b->n_glyphs, b->clusters,
                           (int)b->n_clusters, 0);
    b->len = b->n_glyphs = b->n_clusters = 0;
}

/* Copies the text, cut to the maximum of a batch. */
static void add_to_batch(batch *b, const stroke *ink, double x, double y)
{
    memcpy(b->text + b->len, ink->text, (size_t)ink->len);
    memcpy(b->clusters + b->n_clusters, ink->clusters,
           (size_t)ink->n_clusters * sizeof *ink->clusters);
    for (int i = 0; i < ink->n_glyphs; i++)
        b->glyphs[b->n_glyphs + (size_t)i] =
            (cairo_glyph_t){ink->glyphs[i].index, ink->glyphs[i].x + x, ink->glyphs[i].y + y};
    b->style = ink->style;
    b->len += (size_t)ink->len;
    b->n_glyphs += (size_t)ink->n_glyphs;
    b->n_clusters += (size_t)ink->n_clusters;
}

void tb__pen_draw(tb__pen *pen, cairo_t *cr, const tb__ink *box, double x, double y)
{
    const stroke *ink = (const stroke *)box;
    batch *b = &pen->batch;
    const bool fits = !ink->layout;
    if (!fits || b->style != ink->style || b->len + (size_t)ink->len > BATCH_MOST ||
        b->n_glyphs + (size_t)ink->n_glyphs > BATCH_MOST)
        tb__pen_flush(pen, cr);
    if (fits) {
        add_to_batch(b, ink, x, y);
        return;
    }
    set_colour(cr, ink->style);
    cairo_move_to(cr, x, y);
    pango_cairo_show_layout(cr, ink->layout);
}
