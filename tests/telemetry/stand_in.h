// A stand-in for a vendor's library (stand_ins/), as seen by a test.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace reprise {

// Holds the library loaded, so that its script outlives the sources that open and close it.
class StandIn {
 public:
  explicit StandIn(std::string path) : path_(std::move(path)) {
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      ADD_FAILURE() << dlerror();
      return;
    }
    set_ = reinterpret_cast<void (*)(const char*, double)>(dlsym(handle_, "StandInSet"));
    get_ = reinterpret_cast<double (*)(const char*)>(dlsym(handle_, "StandInGet"));
    clear_ = reinterpret_cast<void (*)()>(dlsym(handle_, "StandInClear"));
    clear_();
  }
  ~StandIn() {
    if (handle_ != nullptr) {
      clear_();
      dlclose(handle_);
    }
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void Set(const std::string& key, double number) const { set_(key.c_str(), number); }
  [[nodiscard]] double Get(const std::string& key) const { return get_(key.c_str()); }
  void Clear() const { clear_(); }

 private:
  std::string path_;
  void* handle_ = nullptr;
  void (*set_)(const char*, double) = nullptr;
  double (*get_)(const char*) = nullptr;
  void (*clear_)() = nullptr;
};

}  // namespace reprise
