/** A command, as a completion offers it. */
export interface CompletedCommand {
  /** Names from the program on, such as `gloaming index build`. */
  readonly path: string;
  readonly options: readonly CompletedOption[];
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  /** Values of its arguments; empty where they are files or names. */
  readonly choices: readonly string[];
}

interface CompletedOption {
  /** `-f`, `--format`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** Empty where any value or a file may follow. */
  readonly choices: readonly string[];
}

export type Shell = keyof typeof SHELLS;

/** Writers of completion scripts. Files are completed where the program has no words to offer. */
export const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** Longest description of an option. Unit  characters */
const DESCRIPTION_MAX = 72;

function bashScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of gloaming for bash, written by "gloaming completion bash".
_gloaming() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path=gloaming word words=
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${deeperPaths(commands)}) path="$path $word" ;;
    esac
  done
  case "$path $previous" in
${valueCases(commands, (values) => `words=${quoted(values.join(' '))}`)}
    ${valuePatterns(commands)}) return ;;
    *)
      case "$path" in
${commands.map((each) => `        ${quoted(each.path)}) words=${quoted(wordsOf(each).join(' '))} ;;`).join('\n')}
      esac
      [[ $current == -* ]] || words=$(printf '%s\\n' $words | grep -v '^-')
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _gloaming gloaming
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = ({ path, options, commands: subcommands, choices }: CompletedCommand): string => {
    const names = [...subcommands.map(({ name, summary }) => `${name}:${summary}`), ...choices].map(quoted);
    const flags = options.flatMap(({ names: each, description }) =>
      each.map((name) => quoted(`${name}:${short(description)}`)),
    );
    return `    ${quoted(path)}) names=(${names.join(' ')}); flags=(${flags.join(' ')}) ;;`;
  };
  return `#compdef gloaming
# Completion of gloaming for zsh, written by "gloaming completion zsh".
_gloaming() {
  local where=gloaming word
  local -a names flags values
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$where $word" in
      ${deeperPaths(commands)}) where="$where $word" ;;
    esac
  done
  case "$where \${words[CURRENT-1]}" in
${valueCases(commands, (values) => `values=(${values.map(quoted).join(' ')}); compadd -a values; return`)}
    ${valuePatterns(commands)}) _files; return ;;
  esac
  case "$where" in
${commands.map(described).join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe option flags
  elif (( \${#names} > 0 )); then
    _describe command names
  else
    _files
  fi
}
compdef _gloaming gloaming
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, options, commands: subcommands, choices }) => {
    const at = `complete -c gloaming -n ${fishQuoted(`__gloaming_at ${path.split(' ').slice(1).join(' ')}`.trimEnd())}`;
    return [
      ...subcommands.map(({ name, summary }) => `${at} -f -a ${name} -d ${fishQuoted(summary)}`),
      ...choices.map((choice) => `${at} -f -a ${choice}`),
      ...options.map(({ names, description, takesValue, choices: values }) => {
        const flags = names.map((name) =>
          name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        );
        const value = !takesValue ? '' : values.length > 0 ? ` -x -a ${fishQuoted(values.join(' '))}` : ' -r';
        return `${at} ${flags.join(' ')}${value} -d ${fishQuoted(short(description))}`;
      }),
    ];
  });
  const paths = commands.flatMap(({ path }) =>
    path.includes(' ') ? [path.split(' ').slice(1).join(' ')] : [],
  );
  return `# Completion of gloaming for fish, written by "gloaming completion fish".
function __gloaming_at
    set -l here
    for word in (commandline -opc)[2..-1]
        if contains -- "$here $word" ${paths.map((path) => fishQuoted(` ${path}`)).join(' ')}
            set here "$here $word"
        end
    end
    test (string trim -- "$here") = "$argv"
end
${lines.join('\n')}
`;
}

/** Pattern of every path below the program itself. */
function deeperPaths(commands: readonly CompletedCommand[]): string {
  return commands
    .slice(1)
    .map(({ path }) => quoted(path))
    .join('|');
}

/** One branch for each option with listed values. */
function valueCases(
  commands: readonly CompletedCommand[],
  action: (values: readonly string[]) => string,
): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ choices }) => choices.length > 0)
        .map(({ names, choices }) => {
          const pattern = names.map((name) => quoted(`${path} ${name}`)).join('|');
          return `    ${pattern}) ${action(choices)} ;;`;
        }),
    )
    .join('\n');
}

/** Pattern of the options whose value is a file, a number or a name. */
function valuePatterns(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ takesValue, choices }) => takesValue && choices.length === 0)
        .flatMap(({ names }) => names.map((name) => quoted(`${path} ${name}`))),
    )
    .join('|');
}

function wordsOf({ commands, choices, options }: CompletedCommand): string[] {
  return [...commands.map(({ name }) => name), ...choices, ...options.flatMap(({ names }) => names)];
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll(':', ' –');
  return line.length <= DESCRIPTION_MAX ? line : `${line.slice(0, DESCRIPTION_MAX - 1)}…`;
}

/** A word in single quotes for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A word in single quotes for fish. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
