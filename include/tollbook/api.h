/* Shared by all headers: the version, C linkage for C++, and the mark of exported symbols. Every
 * declaration stands between TB_API_BEGIN and TB_API_END; the library is compiled with hidden
 * visibility, so nothing else leaves it.
 *
 * Within one major version functions, error numbers and enum values are only added, and structs
 * keep their members. A program that was built with 1.1 runs with any later 1.x. */
#ifndef TOLLBOOK_API_H
#define TOLLBOOK_API_H

#define TB_VERSION "1.1.0"

#ifdef __cplusplus
#define TB_API_BEGIN extern "C" { _Pragma("GCC visibility push(default)")
#define TB_API_END _Pragma("GCC visibility pop") }
#else
#define TB_API_BEGIN _Pragma("GCC visibility push(default)")
#define TB_API_END _Pragma("GCC visibility pop")
#endif

#define TB_MUST_USE __attribute__((warn_unused_result))
#define TB_PRINTF(f, a) __attribute__((format(printf, f, a)))

TB_API_BEGIN

/* The version of the library that runs, which can be newer than the TB_VERSION of the program. */
const char *tb_version(void);

TB_API_END

#endif
