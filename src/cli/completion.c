/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The firn authors */

/* firn completion: scripts for bash and zsh, made from the tables of commands and options. */
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "firn/firn.h"

static void list_forms(const char *divider)
{
    for (int form = 0; firn_form_name(form) != NULL; form++) {
        print("%s%s", form > 0 ? divider : "", firn_form_name(form));
    }
}

static void list_presets(const char *divider)
{
    const firn_preset *preset;
    for (size_t i = 0; (preset = firn_preset_at(i)) != NULL; i++) {
        print("%s%s", i > 0 ? divider : "", preset->name);
    }
}

static void list_commands(const char *divider)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        print("%s%s", i > 0 ? divider : "", commands[i]->name);
    }
}

static void list_options(const struct command *command)
{
    for (const struct option_spec *spec = command->options; spec->name != NULL; spec++) {
        print("--%s ", spec->name);
    }
    print("--help");
}

/* The options with a value, as a case pattern: -f|--format. */
static bool pattern(const struct command *command, enum completion completion)
{
    bool any = false;
    for (const struct option_spec *spec = command->options; spec->name != NULL; spec++) {
        if (spec->argument == NULL || spec->completion != completion) {
            continue;
        }
        print("%s--%s", any ? "|" : "            ", spec->name);
        if (spec->letter != '\0') {
            print("|-%c", spec->letter);
        }
        any = true;
    }
    if (any) {
        print(") ");
    }
    return any;
}

static void bash_words(enum completion completion)
{
    if (completion == COMPLETE_FORM) {
        list_forms(" ");
    } else if (completion == COMPLETE_LAYOUT) {
        list_presets(" ");
    } else if (completion == COMPLETE_REGISTRY) {
        print("sqlite: static:");
    }
}

static void bash_command(const struct command *command)
{
    print("    %s)\n        case \"$previous\" in\n", command->name);
    for (enum completion kind = COMPLETE_NOTHING; kind <= COMPLETE_REGISTRY; kind++) {
        if (pattern(command, kind)) {
            print("words=\"");
            bash_words(kind);
            print("\" ;;\n");
        }
    }
    print("            *) words=\"");
    list_options(command);
    if (command == &cmd_help) {
        print(" ");
        list_commands(" ");
    } else if (command == &cmd_completion) {
        print(" bash zsh");
    } else if (command == &cmd_workers) {
        print(" adopt");
    } else if (command->words != NULL && command->words_completion != COMPLETE_NOTHING) {
        print(" ");
        bash_words(command->words_completion);
    }
    print("\" ;;\n        esac\n        ;;\n");
}

static void print_bash(void)
{
    print("# bash completion for firn; made by 'firn completion bash'\n"
          "_firn()\n"
          "{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]}\n"
          "    local previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local words=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words=\"");
    list_commands(" ");
    print(" --help --version\"\n"
          "    else\n"
          "    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        bash_command(commands[i]);
    }
    print("    esac\n"
          "    fi\n"
          "    # shellcheck disable=SC2207 # no word holds a blank\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "}\n"
          "complete -F _firn firn\n");
}

/* Text inside '[…]' of _arguments, inside single quotes. */
static void zsh_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            print("'\\''");
        } else if (strchr("[]:\\", *text) != NULL) {
            print("\\%c", *text);
        } else {
            print("%c", *text);
        }
    }
}

static void zsh_values(enum completion completion)
{
    if (completion == COMPLETE_FORM) {
        print("(");
        list_forms(" ");
        print(")");
    } else if (completion == COMPLETE_LAYOUT) {
        print("(");
        list_presets(" ");
        print(")");
    } else if (completion == COMPLETE_REGISTRY) {
        print("(sqlite\\: static\\:)");
    }
}

static void zsh_option(const struct option_spec *spec)
{
    print("            ");
    if (spec->letter != '\0') {
        print("'(-%c --%s)'{-%c,--%s}", spec->letter, spec->name, spec->letter, spec->name);
    } else {
        print("--%s", spec->name);
    }
    print("'[");
    zsh_escaped(spec->help);
    print("]");
    if (spec->argument != NULL) {
        print(":%s:", spec->argument);
        zsh_values(spec->completion);
    }
    print("' \\\n");
}

static void zsh_command(const struct command *command)
{
    print("    %s)\n        _arguments \\\n", command->name);
    for (const struct option_spec *spec = command->options; spec->name != NULL; spec++) {
        zsh_option(spec);
    }
    if (command == &cmd_help) {
        print("            '1:command:(");
        list_commands(" ");
        print(")' \\\n");
    } else if (command == &cmd_completion) {
        print("            '1:shell:(bash zsh)' \\\n");
    } else if (command == &cmd_workers) {
        print("            '1:action:(adopt)' \\\n");
    } else if (command->words != NULL) {
        print("            '*:%s:", command->words);
        zsh_values(command->words_completion);
        print("' \\\n");
    }
    print("            '(-h --help)'{-h,--help}'[Show help.]'\n        ;;\n");
}

static void print_zsh(void)
{
    print("#compdef firn\n"
          "# zsh completion for firn; made by 'firn completion zsh'\n"
          "_firn()\n"
          "{\n"
          "    if (( CURRENT == 2 )); then\n"
          "        local -a names=(\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        print("            '%s:", commands[i]->name);
        zsh_escaped(commands[i]->summary);
        print("'\n");
    }
    print("        )\n"
          "        _describe command names\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $name in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        zsh_command(commands[i]);
    }
    print("    esac\n"
          "}\n"
          "if [ \"$funcstack[1]\" = _firn ]; then\n"
          "    _firn \"$@\"\n"
          "else\n"
          "    compdef _firn firn\n"
          "fi\n");
}

static const struct option_spec options[] = {OPTION_END};

static const struct example examples[] = {
    {"source <(firn completion bash)",
     "For this shell; or put the text where bash-completion looks."},
    {"firn completion zsh > _firn", "For a folder in zsh's fpath."},
    {NULL, NULL},
};

static int run(const struct arguments *arguments)
{
    const char *shell = arguments->words[0];
    if (strcmp(shell, "bash") == 0) {
        print_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh();
    } else {
        return complain(EXIT_USAGE, "'%s': no completion for this shell; there is bash and zsh",
                        shell);
    }
    return EXIT_GOOD;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "a completion script for bash or zsh",
    .words = "SHELL",
    .words_min = 1,
    .words_max = 1,
    .description = "Prints a script that completes commands, options and their values.",
    .options = options,
    .examples = examples,
    .run = run,
};
