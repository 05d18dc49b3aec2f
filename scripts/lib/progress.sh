# shellcheck shell=bash
# phase TEXT: one line on standard error when a phase begins, after the time since the script began.
phase() { printf '[%2d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*" >&2; }

# show_progress: Ninja's lines "[done/all] what" become one line for each tenth that is done. Other
# lines, such as a compiler's errors, pass through. Without work it prints nothing.
show_progress() {
  local line tenth last=-1
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      tenth=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
      [ $tenth -eq $last ] && continue
      last=$tenth
      phase "building: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    elif [[ $line != ninja:\ Entering* && $line != ninja:\ no\ work* ]]; then
      printf '%s\n' "$line" >&2
    fi
  done
}
