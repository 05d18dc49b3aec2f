// Ctrl-C and SIGTERM while a replay runs: what was recorded is to be kept.
#pragma once

#include <optional>

#include "core/result.h"

namespace reprise {

// From now on SIGINT, SIGTERM and SIGHUP, as far as they are not ignored, remove what this process
// has begun to write (core/temporary_output.h) before they end it. For commands that do not call
// CatchInterrupts, which takes their place. A write beyond the limit on file sizes fails, as one on
// a full disk does, instead of killing.
void RemoveOutputsOnInterrupt();
// From now on SIGINT and SIGTERM are left to PendingInterrupt where that is asked (several times a
// second); where nobody asks, and when a second one comes, they end the process as usual.
void CatchInterrupts();
// What has come, in words; nothing while none has. From any thread.
[[nodiscard]] std::optional<Error> PendingInterrupt();
// 128 + the signal's number, as shells have it; 0 while none has come.
[[nodiscard]] int InterruptExitCode();

}  // namespace reprise
