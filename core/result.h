// Result<T>: the return type of everything that can fail. No exceptions cross a folder boundary.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace reprise {

// What went wrong, in the terms of the program's exit codes (only cli/ turns it into one).
enum class ErrorKind {
  kCheckFailed = 1,  // the input is fine, a check on it failed
  kUsage = 2,        // the caller asked for something impossible
  kBadInput = 3,     // a file is damaged, of the wrong kind, or contradicts another
  kEnvironment = 4,  // the machine lacks something: a device, memory, a permission
};

struct Error {
  ErrorKind kind = ErrorKind::kBadInput;
  // One sentence or more: file, byte offset or node id, what was expected, what to do.
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}
inline tl::unexpected<Error> BadInput(std::string message) {
  return Fail(ErrorKind::kBadInput, std::move(message));
}
inline tl::unexpected<Error> UsageError(std::string message) {
  return Fail(ErrorKind::kUsage, std::move(message));
}
inline tl::unexpected<Error> EnvironmentError(std::string message) {
  return Fail(ErrorKind::kEnvironment, std::move(message));
}
inline tl::unexpected<Error> CheckFailed(std::string message) {
  return Fail(ErrorKind::kCheckFailed, std::move(message));
}

// REPRISE_TRY(expr): propagate the error of a Status or Result whose value is not needed.
#define REPRISE_TRY(expr)                                                  \
  do {                                                                     \
    if (auto reprise_try_result = (expr); !reprise_try_result) {           \
      return tl::unexpected<::reprise::Error>(reprise_try_result.error()); \
    }                                                                      \
  } while (false)

#define REPRISE_CONCAT_INNER(a, b) a##b
#define REPRISE_CONCAT(a, b) REPRISE_CONCAT_INNER(a, b)
// REPRISE_ASSIGN(auto x, expr): x = value of expr, or return its error.
#define REPRISE_ASSIGN(declaration, expr) \
  REPRISE_ASSIGN_INNER(REPRISE_CONCAT(reprise_result_, __LINE__), declaration, expr)
#define REPRISE_ASSIGN_INNER(result, declaration, expr)      \
  auto result = (expr);                                      \
  if (!result) {                                             \
    return tl::unexpected<::reprise::Error>(result.error()); \
  }                                                          \
  declaration = std::move(*result)

}  // namespace reprise
