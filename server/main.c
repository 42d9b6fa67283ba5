/* tollbook: finds the subcommand in the table, parses its options and runs it. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "tollbook/operation.h"

static int end_help(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : tb_code_exit(TB_E_IO);
}

/* "help", "help WORD" and "help WORD WORD"; "help config" is about the configuration file. */
static int help(int argc, char **argv)
{
    int words;
    tb_error err;
    if (argc == 0) {
        cli_help_all(stdout, cli_commands, cli_n_commands, "");
        return end_help();
    }
    if (argc == 1 && strcmp(argv[0], "config") == 0) {
        config_help(stdout, &(config_commands){cli_commands, cli_n_commands});
        return end_help();
    }
    const cli_command *command =
        cli_find(cli_commands, cli_n_commands, argc, argv, &words, &err);
    if (command) {
        cli_help(stdout, command);
        return end_help();
    }
    size_t len = strlen(argv[0]);
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (strncmp(cli_commands[i].name, argv[0], len) != 0 || cli_commands[i].name[len] != ' ')
            continue;
        cli_help_all(stdout, cli_commands, cli_n_commands, argv[0]);
        return end_help();
    }
    return cli_refuse(&err);
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_call call;
    tb_error err;
    cli_use_messages(&(cli_call){.command = command}, command->runs_on);
    if (cli_parse(command, argc, argv, config_use, &call, &err)) return cli_refuse(&err);
    cli_use_messages(&call, command->runs_on);
    cli_tell_options(&call);
    if (call.help) {
        cli_help(stdout, command);
        return end_help();
    }
    return cli_run(&call);
}

int main(int argc, char **argv)
{
    int words;
    tb_error err;
    argc--, argv++;
    tb_operations_start();
    cli_commands_fill();
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the write, not the end */
    umask(077); /* databases hold hashes of keys and everybody's figures */
    if (argc > 0 && (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
                     strcmp(argv[0], "-h") == 0))
        return help(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return help(1, argv);
    if (argc > 0 && (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "version") == 0 ||
                     strcmp(argv[0], "-V") == 0 || strcmp(argv[0], "-v") == 0))
        return cli_version(stdout);
    const cli_command *command =
        cli_find(cli_commands, cli_n_commands, argc, argv, &words, &err);
    if (argc > 1 && strcmp(argv[argc - 1], "help") == 0 && access("help", F_OK) != 0 && argc - 1 == (command ? words : 1))
        return help(argc - 1, argv);
    if (!command) return cli_refuse(&err);
    return run_command(command, argc - words, argv + words);
}
