// Messages for people, on stderr only (stdout belongs to results, in cli/).
#pragma once

#include <string_view>

namespace reprise {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Thread-safe. `rank` < 0 means not part of a multi-rank run; else lines carry the rank.
void SetLog(LogLevel level, int rank = -1);
void Log(LogLevel level, std::string_view message);
inline void LogInfo(std::string_view message) { Log(LogLevel::kInfo, message); }
inline void LogWarning(std::string_view message) { Log(LogLevel::kWarning, message); }
inline void LogError(std::string_view message) { Log(LogLevel::kError, message); }

}  // namespace reprise
