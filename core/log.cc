#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

#include "core/shown_text.h"

namespace reprise {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> shared = [] {
    auto logger = std::make_shared<spdlog::logger>(
        "reprise", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("reprise: %^%l%$: %v");
    logger->flush_on(spdlog::level::warn);
    return logger;
  }();
  return *shared;
}

}  // namespace

void SetLog(LogLevel level, int rank) {
  Logger().set_level(ToSpdlog(level));
  if (rank >= 0) {
    Logger().set_pattern("reprise[rank " + std::to_string(rank) + "]: %^%l%$: %v");
  }
}

void Log(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), ShownLines(message));
}

}  // namespace reprise
