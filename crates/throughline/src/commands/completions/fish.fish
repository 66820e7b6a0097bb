
# Ids, workspaces, agents and tags come from the store.
complete -c throughline -n "__fish_seen_subcommand_from {commands}" -f -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
complete -c throughline -l workspace -x -a "(throughline complete workspaces (commandline -ct) 2>/dev/null)"
complete -c throughline -l agent -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l to -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l tag -x -a "(throughline complete tags (commandline -ct) 2>/dev/null)"
complete -c throughline -l session-tag -x -a "(throughline complete tags (commandline -ct) 2>/dev/null)"
complete -c throughline -l session -x -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
complete -c throughline -l raw -x -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
