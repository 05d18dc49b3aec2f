// A library opened at run time and never closed: those that are opened start
// threads and register handlers, and do not survive being unloaded.
#pragma once

#include <initializer_list>
#include <string>

#include "core/result.h"

namespace reprise {

class SharedLibrary {
 public:
  // The first of `names` that opens ("libclblast.so.1"); environment error if none does.
  [[nodiscard]] static Result<SharedLibrary> Open(std::initializer_list<const char*> names);
  // nullptr if the library has no such function.
  template <typename Function>
  [[nodiscard]] Function* Find(const char* symbol) const {
    return reinterpret_cast<Function*>(Address(symbol));
  }
  // The file behind the name, links followed; `of` is any symbol of it.
  [[nodiscard]] std::string FileOf(const char* of) const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* Address(const char* symbol) const;

  void* handle_;
};

}  // namespace reprise
