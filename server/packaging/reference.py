"""Man pages and completions out of the table of subcommands.

    reference.py TABLE.json FOLDER

TABLE.json is what the program of table.c prints. FOLDER gets man1/tollbook.1, a page for each
subcommand (man1/tollbook-key-create.1), man5/tollbook.conf.5, bash/tollbook, zsh/_tollbook and fish/tollbook.fish.
"""
import json
import shutil
import sys
from pathlib import Path

EXIT = [("0", "done"), ("1", "the answer is no"), ("2", "usage or bad input"),
        ("3", "environment: disk, lock, permission, memory")]
NOW = ("TOLLBOOK_NOW", "a time (RFC 3339) that stands in for the clock")
DB = ("TOLLBOOK_DB", "the database, where neither --db nor --server is given")
SERVER = [("TOLLBOOK_SERVER", "the server's URL, where neither is given"),
          ("TOLLBOOK_KEY", "the API key, where --server is given without --key or --key-file"),
          ("TOLLBOOK_KEY_FILE", "a file whose one line is that key")]
CONFIG = ("TOLLBOOK_CONFIG", "the configuration file, where --config is not given; none: no file is read")
CERT = ("SSL_CERT_FILE", "certificates of authorities for other servers, where --ca is not given")
OUTPUT = (".SH OUTPUT\nWhat prints data prints a table on a terminal, and JSON in a pipe or a file.\n.BR \\-\\-format\n"
          "table, json or csv chooses. In a pipe a table has tabs between its cells. Documents, keys, tokens and\n"
          "digests are the same everywhere, and\n.BR tollbook\\-query (1)\nprints rows with tabs.\n")


# --- man pages ---

def roff(text):
    """Text for a line of its own: nothing in it is a request, hyphens can be copied, and a long choice may be broken."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("|", "|\\:")
    return "\\&" + text if text[:1] in (".", "'") else text


def page_name(command):
    return "tollbook-" + command["name"].replace(" ", "-")


def heading(name, version, section=1):
    manual = {1: "User Commands", 5: "File Formats"}[section]
    return f'.TH "{name.upper()}" "{section}" "" "tollbook {version}" "{manual}"\n'


def paragraphs(text):
    """Lines flow together; an empty line begins a paragraph, a blank at its head keeps a line."""
    out = ""
    for line in text.split("\n"):
        if not line:
            out += ".PP\n"
        elif line[0] == " ":
            out += f".br\n{roff(line)}\n"
        else:
            out += roff(line) + "\n"
    return out


def tagged(rows):
    return "".join(f".TP\n\\fB{roff(tag)}\\fR\n{roff(text[:1].upper() + text[1:])}.\n"
                   for tag, text in rows)


def option_synopsis(option):
    value = "" if option["kind"] == "flag" else f" \\fI{roff(option['value'])}\\fR"
    dots = "..." if option["repeats"] else ""
    text = f"\\fB\\-\\-{roff(option['name'])}\\fR{value}{dots}"
    return text if option["required"] else f"[{text}]"


def option_entry(option, dashes="\\-\\-", readers=()):
    """readers: of the configuration file, the commands that take the option."""
    value = "" if option["kind"] == "flag" else f" \\fI{roff(option['value'])}\\fR"
    notes = [word for word, held in (("required", option["required"] and dashes), ("may repeat", option["repeats"]),
                                     (", ".join(readers), readers)) if held]
    note = f" ({'; '.join(notes)})" if notes else ""
    return (f".TP\n\\fB{dashes}{roff(option['name'])}\\fR{value}\n"
            f"{roff(option['help'][:1].upper() + option['help'][1:])}{roff(note)}.\n")


def command_page(command, common, version):
    name = page_name(command)
    out = heading(name, version)
    out += f".SH NAME\n{roff(name)} \\- {roff(command['summary'])}\n.SH SYNOPSIS\n.nh\n.ad l\n"
    out += f".B tollbook {command['name']}\n"
    out += "".join(option_synopsis(option) + "\n" for option in command["options"])
    if command["operands"]:
        out += f".I {roff(command['operands'])}\n"
    out += f".hy\n.ad\n.SH DESCRIPTION\n{roff(command['summary'])}.\n"
    if command["details"]:
        out += ".PP\n" + paragraphs(command["details"])
    out += ".SH OPTIONS\n" + "".join(option_entry(option) for option in command["options"])
    out += ".SS Of every command\n" + "".join(option_entry(option) for option in common)
    names = [option["name"] for option in command["options"]]
    out += ".SH ENVIRONMENT\n" + tagged([NOW, CONFIG] + [DB] * ("db" in names) + SERVER * ("server" in names) + [CERT] * ("ca" in names))
    out += ".SH EXIT STATUS\n" + tagged(EXIT)
    return out + ".SH SEE ALSO\n.BR tollbook (1),\n.BR tollbook.conf (5)\n"


def config_page(commands, common, path, version):
    """What `tollbook help config` says (config_help of server/cli/config.c)."""
    readers, rows = {}, {}
    for command in commands:
        for option in command["options"]:
            if option["configured"]:
                readers.setdefault(option["name"], []).append(command["name"])
                rows.setdefault(option["name"], option)
    rows.update((option["name"], option) for option in common if option["configured"])
    out = heading("tollbook.conf", version, 5)
    out += (".SH NAME\ntollbook.conf \\- options of tollbook\n.SH SYNOPSIS\n"
            f".I {roff(path)}\n.SH DESCRIPTION\nOptions, one a line, under their names on the command line without the dashes:\n"
            ".PP\n.nf\n# a comment\ndb /var/lib/tollbook/tollbook.db\nlisten 127.0.0.1:8080\nsearch\\-paged\n.fi\n.PP\n"
            "A value is the rest of its line, without the blanks around it. Nothing is quoted or escaped:\n\\(lq#\\(rq begins a "
            "comment at the start of a line alone. A flag stands alone. Options that may\nrepeat may do so here.\n.PP\n"
            "Each command takes the options that it has. What the command line gives counts first, then the\nenvironment, then "
            "the file. Where the file has both\n.B db\nand\n.BR server ,\ncommands that can run on a server take\n.BR server ,\n"
            "and the others\n.BR db .\nAn option that no command has is an error. A file with a\n.B key\n"
            "may be read by its owner alone;\n.B key\\-file\nnames a file that holds it.\n.PP\n"
            ".B \\-\\-config\n.I FILE\nor the variable\n.B TOLLBOOK_CONFIG\nnames another file;\n.B none\nnames none.\n"
            "A folder that the user may not enter counts as one without the file.\n.SH OPTIONS\n")
    for name, option in rows.items():
        known = readers.get(name, [])
        out += option_entry(option, "", known if len(known) <= 4 else [])
    return out + ".SH SEE ALSO\n.BR tollbook (1),\n.BR tollbook\\-serve (1)\n"


def main_page(commands, path, version):
    out = heading("tollbook", version)
    out += (".SH NAME\ntollbook \\- statistics and billing for content delivery\n.SH SYNOPSIS\n"
            ".B tollbook\n.I SUBCOMMAND\n[options]\n.br\n.B tollbook help\n[\\fISUBCOMMAND\\fR]\n"
            ".br\n.B tollbook \\-\\-version\n"
            ".SH DESCRIPTION\nRequest logs and usage counters go in; statistics and invoices come "
            "out,\nover HTTP and on the command line. Everything is kept in one SQLite file.\n.PP\n"
            "One process writes a database at a time, a running\n.BR tollbook\\-serve (1)\nas a "
            "rule; any number read. Send work to the server with\n.BR \\-\\-server .\n"
            ".SH SUBCOMMANDS\n")
    for group in dict.fromkeys(command["group"] for command in commands):
        rows = [command for command in commands if command["group"] == group]
        out += f".SS {roff(group)}\n"
        out += "".join(f".TP\n.BR {roff(page_name(command))} (1)\n{roff(command['summary'])}.\n" for command in rows)
        out += f".PP\n{roff(rows[0]['note'])}\n" if rows[0]["note"] else ""
    out += OUTPUT
    out += ".SH ENVIRONMENT\n" + tagged([NOW, CONFIG, DB, *SERVER, CERT])
    out += ".SH EXIT STATUS\n" + tagged(EXIT)
    out += (f".SH FILES\n.TP\n.I {roff(path)}\nThe configuration file:\n.BR tollbook.conf (5).\n.TP\n"
            ".I /var/lib/tollbook/tollbook.db\nThe database of the systemd unit.\n"
            ".TP\n.I /etc/default/tollbook\nTOLLBOOK_OPTIONS: further options of the unit's server.\n")
    pages = [f".BR {roff(page_name(command))} (1)" for command in commands] + [".BR tollbook.conf (5)"]
    return out + ".SH SEE ALSO\n" + ",\n".join(pages) + "\n"


# --- completions ---

def single(text):
    return "'" + text.replace("'", "'\\''") + "'"


def options_of(command):
    return ["--" + option["name"] for option in command["options"]] + ["--help"]


def choices(option):
    return option["value"].split("|")


def words_of(commands, number):
    """First words, or second words by their first: each once, in the table's order."""
    if number == 0:
        return list(dict.fromkeys(command["name"].split()[0] for command in commands))
    found = {}
    for command in commands:
        first, *second = command["name"].split()
        found.setdefault(first, []).extend(second)
    return {first: second for first, second in found.items() if second}


def bash(commands):
    firsts, seconds = words_of(commands, 0), words_of(commands, 1)
    out = ("# bash completion for tollbook\n_tollbook() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local at=1 command= offered=\n"
           "    [[ ${COMP_WORDS[1]-} == help ]] && ((COMP_CWORD > 1)) && at=2\n"
           "    command=${COMP_WORDS[at]-}\n"
           "    if ((COMP_CWORD == at)); then\n"
           f"        offered='{' '.join(firsts)}'\n"
           "        ((at == 1)) && offered+=' help --help --version' || offered+=' config'\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n"
           "        return\n"
           "    fi\n"
           "    case $command in\n")
    for first, second in seconds.items():
        out += (f"    {first})\n        if ((COMP_CWORD == at + 1)); then offered='{' '.join(second)}'\n"
                f"        else case ${{COMP_WORDS[at + 1]}} in\n"
                f"            {' | '.join(second)}) command+=\" ${{COMP_WORDS[at + 1]}}\" ;;\n"
                "        esac; fi ;;\n")
    out += "    esac\n    ((at == 2)) || case \"$command $before\" in\n"
    for command in commands:
        for option in command["options"]:
            if option["kind"] == "choice":
                out += (f"    {single(command['name'] + ' --' + option['name'])})\n"
                        f"        mapfile -t COMPREPLY < <(compgen -W '{' '.join(choices(option))}' "
                        "-- \"$current\")\n        return ;;\n")
    out += "    esac\n    [[ $current == -* || -n $offered ]] && case $command in\n"
    for command in commands:
        out += f"    {single(command['name'])}) offered+=' {' '.join(options_of(command))}' ;;\n"
    return out + ("    esac\n    mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n"
                  "} &&\n    complete -o bashdefault -o default -F _tollbook tollbook\n")


def zsh_text(text):
    for character in "\\[]:":
        text = text.replace(character, "\\" + character)
    return text


def zsh_option(option):
    spec = ("*" if option["repeats"] else "") + f"--{option['name']}[{zsh_text(option['help'])}]"
    if option["kind"] == "choice":
        spec += f":{zsh_text(option['value'])}:({' '.join(choices(option))})"
    elif option["kind"] != "flag":
        files = "_files" if "FILE" in option["value"] else ""
        spec += f":{zsh_text(option['value'])}:{files}"
    return single(spec)


def zsh_list(name, rows, indent):
    pad = " " * indent
    return (f"{pad}{name}=(\n" +
            "".join(f"{pad}    {single(word + ':' + text)}\n" for word, text in rows) + f"{pad})\n")


def zsh(commands):
    summaries = {command["name"]: command["summary"] for command in commands}
    seconds = words_of(commands, 1)
    firsts = [(first, summaries.get(first, f"{', '.join(seconds.get(first, []))}"))
              for first in words_of(commands, 0)]
    out = ("#compdef tollbook\n_tollbook() {\n    local -a offered\n    local last='help:Help on a subcommand'\n"
           "    if [[ $words[2] == help ]] && (( CURRENT > 2 )); then\n"
           "        shift words\n        (( CURRENT-- ))\n        last='config:Help on the configuration file'\n"
           "    fi\n    if (( CURRENT == 2 )); then\n")
    out += zsh_list("offered", firsts, 8) + "        offered+=(\"$last\")\n"
    out += "        _describe subcommand offered\n        return\n    fi\n"
    out += "    if (( CURRENT == 3 )); then\n        case $words[2] in\n"
    for first, second in seconds.items():
        out += f"        {first})\n"
        out += zsh_list("offered", [(word, summaries[f"{first} {word}"]) for word in second], 12)
        out += "            _describe subcommand offered\n"
        out += "            ;;\n"
    out += "        esac\n    fi\n    case \"$words[2] $words[3]\" in\n"
    for command in sorted(commands, key=lambda command: -len(command["name"].split())):
        words = len(command["name"].split())
        pattern = single(command["name"]) if words == 2 else f"{single(command['name'] + ' ')}*"
        out += f"    {pattern})\n        shift {words} words\n        (( CURRENT -= {words} ))\n"
        out += "        _arguments \\\n"
        out += "".join(f"            {zsh_option(option)} \\\n" for option in command["options"])
        out += "            '--help[Show help]' '*:file:_files'\n        ;;\n"
    return out + "    esac\n}\n_tollbook \"$@\"\n"


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_condition(command, seconds):
    longer = seconds.get(command["name"], [])
    return "; and not ".join([f"__tollbook_begins {command['name']}"] +
                             [f"__tollbook_begins {command['name']} {word}" for word in longer])


def fish(commands):
    seconds = words_of(commands, 1)
    summaries = {command["name"]: command["summary"] for command in commands}
    out = ("# fish completion for tollbook\n"
           "function __tollbook_begins\n    set -l words (commandline -opc)\n    set -e words[1]\n"
           "    for word in $argv\n        test \"$words[1]\" = \"$word\"; or return 1\n"
           "        set -e words[1]\n    end\nend\n"
           "function __tollbook_is\n    set -l words (commandline -opc)\n"
           "    test (count $words) -eq (math 1 + (count $argv)); and __tollbook_begins $argv\nend\n"
           "complete -c tollbook -f -n __tollbook_is -l version -d 'Show the version'\n"
           "complete -c tollbook -f -n __tollbook_is -a help -d 'Help on a subcommand'\n"
           "complete -c tollbook -f -n '__tollbook_is help' -a config -d 'Help on the configuration file'\n")
    for first in words_of(commands, 0):
        text = fish_quote(summaries.get(first, ", ".join(seconds.get(first, []))))
        for place in "", " help":
            out += f"complete -c tollbook -f -n '__tollbook_is{place}' -a {first} -d {text}\n"
        for second in seconds.get(first, []):
            text = fish_quote(summaries[f"{first} {second}"])
            for place in "", "help ":
                out += (f"complete -c tollbook -f -n '__tollbook_is {place}{first}' -a {second} "
                        f"-d {text}\n")
    for command in commands:
        condition = fish_quote(fish_condition(command, seconds))
        for option in command["options"]:
            if option["kind"] == "flag":
                takes = ""
            elif option["kind"] == "choice":
                takes = f" -x -a '{' '.join(choices(option))}'"
            else:
                takes = " -r -F" if "FILE" in option["value"] else " -x"
            out += (f"complete -c tollbook -n {condition} -l {option['name']}{takes} "
                    f"-d {fish_quote(option['help'])}\n")
        out += f"complete -c tollbook -n {condition} -l help -d 'Show help'\n"
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = json.loads(Path(sys.argv[1]).read_text())
    folder, commands, common, version = Path(sys.argv[2]), table["commands"], table["common"], table["version"]
    path = table["configuration"]
    shutil.rmtree(folder, ignore_errors=True)  # a subcommand that is gone has no page
    offered = [{**command, "options": command["options"] + common} for command in commands]
    files = {"man1/tollbook.1": main_page(commands, path, version),
             "man5/tollbook.conf.5": config_page(commands, common, path, version), "bash/tollbook": bash(offered),
             "zsh/_tollbook": zsh(offered), "fish/tollbook.fish": fish(offered)}
    for command in commands:
        files[f"man1/{page_name(command)}.1"] = command_page(command, common, version)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
