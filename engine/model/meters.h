/* A meter as the catalogue declares it. */
#ifndef TOLLBOOK_MODEL_METERS_H
#define TOLLBOOK_MODEL_METERS_H

#include "model/declared.h"
#include "tollbook/meter.h"

/* Reads one of the catalogue's `meters`; the number stays 0. */
bool tb__declared_meter(const tb__document *doc, uint32_t value, tb_meter *ret, tb__fault *fault);

#endif
