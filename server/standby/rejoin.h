/* A file that was a primary's, or a copy of one, becomes a copy of the primary that is now. Where its newest piece is in the new
 * primary's history it just follows, and nothing is to be done here. Where it has pieces that the new primary never had, these
 * are saved beside it as a file of pieces, as a continuous backup has them, and the file is replaced by a new copy. */
#ifndef TOLLBOOK_SERVER_STANDBY_REJOIN_H
#define TOLLBOOK_SERVER_STANDBY_REJOIN_H

#include "standby/seed.h"

/* Before the file is opened to be served. TB_OK also where nothing is to be done, or nothing can be: the standby then says what
 * is wrong, and the remedy. Only a primary with a higher epoch than the file's has it replaced. */
TB_MUST_USE tb_code rejoin_copy(const seed_options *options, tb_error *err);

#endif
