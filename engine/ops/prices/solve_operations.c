/* The rows of solve break-even, solve price and solve commit. */
#include "ops/prices/solve.h"
#include "tollbook/solve.h"
#include "tollbook/whatif.h"

#define DECIMAL(name_, value_, help_)                                                              \
    {                                                                                              \
        .name = (name_), .value = (value_), .kind = TB_PARAM_TEXT, .min = 1, .max = 60,            \
        .help = (help_)                                                                            \
    }

#define KIND(name_, help_)                                                                         \
    {                                                                                              \
        .name = (name_), .value = "load_balancer|volume|premium", .kind = TB_PARAM_CHOICE,         \
        .help = (help_)                                                                            \
    }

static const tb_param breakeven_params[] = {
    {.name = "book", .value = "BOOK", .kind = TB_PARAM_NAMED, .operand = true, .required = true,
     .max = (int64_t)TB_BOOK_MAX, .help = "a stored book's id, a book, or a what-if scenario"},
    {.name = "second", .value = "BOOK", .kind = TB_PARAM_NAMED, .operand = true,
     .max = (int64_t)TB_BOOK_MAX, .help = "another one"},
    KIND("of", "the usage: a load balancer's requests (default), or bytes"),
    KIND("against", "the usage of the second book, if it differs"),
    {.name = "mix", .value = "EU=60,NA=40", .kind = TB_PARAM_TEXT, .min = 1, .max = 200,
     .help = "premium: regions' shares of the bytes in percent; default EU=100"},
    DECIMAL("discount", "PERCENT", "premium: default 0"),
    {.name = "minimum", .kind = TB_PARAM_FLAG,
     .help = "include the book's monthly minimum, as if nothing else were billed"},
    DECIMAL("up-to", "UNITS", "requests or bytes; default 10^18"),
    TB__PARAM_FORMAT(TB__FORMATS),
};

#define SPAN                                                                                       \
    {.name = "from", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true,                 \
     .help = "first month, UTC"},                                                                  \
    {.name = "to", .value = "YYYY-MM", .kind = TB_PARAM_MONTH, .required = true,                   \
     .help = "last month, included"},                                                              \
    {.name = "currency", .value = "USD", .kind = TB_PARAM_TEXT, .min = 3, .max = 3,                \
     .help = "the currency of the bills, if the span has several"},                                \
    {.name = "book", .value = "BOOK", .kind = TB_PARAM_NAMED, .max = (int64_t)TB_BOOK_MAX,         \
     .help = "use this book (id, file or scenario file) throughout; default: the books in force"}

static const tb_param price_params[] = {
    SPAN,
    TB__PARAM_ACCOUNT(false, "one account; default all"),
    {.name = "price", .value = "PATH", .kind = TB_PARAM_TEXT, .required = true, .repeats = true,
     .min = 1, .max = 200,
     .help = "a price of the book, or what holds several: bandwidth.premium.regions.EU, bandwidth"},
    DECIMAL("target", "AMOUNT", "the sum that the span should earn; default what it was billed"),
    DECIMAL("change", "PERCENT", "the same as a change"),
    {.name = "digits", .value = "N", .kind = TB_PARAM_NUMBER, .min = 0, .max = TB_PRICE_SCALE_MAX,
     .help = "digits of the answer's prices; default one more than in the book, at least 4"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_param commit_params[] = {
    SPAN,
    TB__PARAM_ACCOUNT(true, "whose bills"),
    {.name = "offer", .value = "COMMIT=PERCENT", .kind = TB_PARAM_TEXT, .required = true,
     .repeats = true, .min = 1, .max = 100,
     .help = "a monthly commit and the percent that it takes off the prices; ascending"},
    {.name = "between", .value = "step|linear", .kind = TB_PARAM_CHOICE, .otherwise = "step",
     .help = "between two offers: the lower one's discount, or in proportion; default step"},
    {.name = "price", .value = "PATH", .kind = TB_PARAM_TEXT, .repeats = true, .min = 1, .max = 200,
     .help = "the discounted prices; default bandwidth, load_balancer and optimizer"},
    {.name = "step", .value = "AMOUNT", .kind = TB_PARAM_TEXT, .min = 1, .max = 60,
     .otherwise = "1", .help = "step between the commits to try; default 1"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "solve break-even",
     .summary = "Find the usage at which two price books cost the same",
     .details =
         "A BOOK is a stored book's id, or a file that holds one or a what-if scenario (its base,\n"
         "patched; without one, the first BOOK). All crossings from 0 units on, exact; where\n"
         "both cost the same over a stretch, or the order changes at a tier, a flat or a block\n"
         "without their ever costing the same, the answer says so. Files need no database.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(breakeven_params),
     .read = tb__solve_breakeven,
     .storeless = true},
    {.name = "solve price",
     .summary = "Find the factor on named prices that earns a given sum over a stored span",
     .details =
         "Searched over the portfolio, put on the price grid and rated again exactly, with the\n"
         "residual. Exit status 1 if there is none: the prices bill nothing, or everything\n"
         "else alone earns more. Advice: nothing is changed. Try the prices with whatif.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(price_params),
     .read = tb__solve_price,
     .slow = true},
    {.name = "solve commit",
     .summary = "Find the monthly commit that would have cost an account the least",
     .details =
         "Each offer is a monthly minimum and the percent that it takes off the prices:\n"
         "--offer 0=0 --offer 500=10 --offer 2000=18. The span is billed again under all of\n"
         "them, and under what lies between with --between linear.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(commit_params),
     .read = tb__solve_commit,
     .slow = true},
};
const tb__operations tb__solve_operations = TB__OPERATIONS(rows);
