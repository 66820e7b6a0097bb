
# Ids, workspaces, agents and tags come from the store.
# The first word behind `tag` is a session, the others are tags.
function __throughline_has_session
    __fish_seen_subcommand_from tag
    and test (count (commandline -opc)) -gt 2
end
complete -c throughline -n "__fish_seen_subcommand_from {commands}; and not __throughline_has_session" -f -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
complete -c throughline -n "__throughline_has_session" -f -a "(throughline complete tags (commandline -ct) 2>/dev/null)"
complete -c throughline -n "__fish_seen_subcommand_from install uninstall" -f -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l workspace -x -a "(throughline complete workspaces (commandline -ct) 2>/dev/null)"
complete -c throughline -l agent -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l in -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l flavor -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l to -x -a "(throughline complete agents (commandline -ct) 2>/dev/null)"
complete -c throughline -l tag -x -a "(throughline complete tags (commandline -ct) 2>/dev/null)"
complete -c throughline -l session-tag -x -a "(throughline complete tags (commandline -ct) 2>/dev/null)"
complete -c throughline -l session -x -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
complete -c throughline -l raw -x -a "(throughline complete sessions (commandline -ct) 2>/dev/null)"
