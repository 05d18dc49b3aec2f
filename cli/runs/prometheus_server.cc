#include "cli/runs/prometheus_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/file_descriptor.h"
#include "core/text.h"

namespace reprise {
namespace {

// A scraper sends a few hundred bytes and is done within milliseconds.
constexpr std::size_t kMaxRequestBytes = 8 << 10;
constexpr std::int64_t kClientNs = 5'000'000'000;
constexpr std::size_t kMaxClients = 64;

struct Address {
  std::string host = "127.0.0.1";
  int port = 0;
};

Result<Address> ParseAddress(const std::string& where) {
  Address address;
  std::string port = where;
  if (const std::size_t colon = where.rfind(':'); colon != std::string::npos) {
    address.host = where.substr(0, colon);
    port = where.substr(colon + 1);
    if (address.host.starts_with('[') && address.host.ends_with(']')) {  // [::1]:9400
      address.host = address.host.substr(1, address.host.size() - 2);
    }
  }
  address.port = ParseNumber<decltype(address.port)>(port).value_or(-1);
  if (address.port < 0 || address.port > 65'535 || address.host.empty()) {
    return UsageError(fmt::format(
        "--prometheus: '{}' is neither PORT nor ADDRESS:PORT (9400, 0.0.0.0:9400, [::1]:9400)",
        where));
  }
  return address;
}

// A socket that listens on the first address of that name that can be had; none if there is none.
FileDescriptor Listen(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) !=
      0) {
    return FileDescriptor();
  }
  FileDescriptor listener;
  for (const addrinfo* at = found; at != nullptr && listener.get() < 0; at = at->ai_next) {
    FileDescriptor one(socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (one.get() >= 0 && setsockopt(one.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(one.get(), at->ai_addr, at->ai_addrlen) == 0 && listen(one.get(), SOMAXCONN) == 0) {
      listener = std::move(one);
    }
  }
  freeaddrinfo(found);
  return listener;
}

std::optional<int> PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return std::nullopt;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string Answer(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format(
             "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
             status, type, body.size()) +
         std::string(body);
}

// To a request whose header is whole: its first line is METHOD TARGET VERSION.
std::string AnswerTo(std::string_view request, const std::function<std::string()>& text) {
  const std::vector<std::string_view> words =
      SplitText(request.substr(0, request.find("\r\n")), ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) {
    return Answer("400 Bad Request", "text/plain", "no request of HTTP/1.1\n");
  }
  if (words[0] != "GET" && words[0] != "HEAD") {
    return Answer("405 Method Not Allowed", "text/plain", "GET and HEAD only\n");
  }
  if (words[1].substr(0, words[1].find('?')) != "/metrics") {
    return Answer("404 Not Found", "text/plain", "only /metrics is here\n");
  }
  std::string answer = Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", text());
  if (words[0] == "HEAD") {
    answer.resize(answer.find("\r\n\r\n") + 4);
  }
  return answer;
}

// One connection: a request, its answer, then what is left of the request until its sender closes.
class Client {
 public:
  explicit Client(FileDescriptor socket)
      : socket_(std::move(socket)), until_ns_(MonotonicNs() + kClientNs) {}

  [[nodiscard]] std::int64_t until_ns() const { return until_ns_; }
  [[nodiscard]] pollfd Awaits() const {
    return {.fd = socket_.get(), .events = static_cast<short>(Sends() ? POLLOUT : POLLIN)};
  }
  // Reads or sends what can be without a wait. False: the connection is over.
  bool Go(const std::function<std::string()>& text) {
    if (!Sends()) {
      std::array<char, 4096> part{};
      const ssize_t bytes = recv(socket_.get(), part.data(), part.size(), 0);
      if (bytes <= 0) {
        return bytes < 0 && (errno == EAGAIN || errno == EINTR);
      }
      if (!answer_.empty()) {
        return true;  // closing with something unread would cut off the answer
      }
      request_.append(part.data(), static_cast<std::size_t>(bytes));
      if (request_.find("\r\n\r\n") == std::string::npos) {
        return request_.size() < kMaxRequestBytes;
      }
      answer_ = AnswerTo(request_, text);
    }
    const ssize_t bytes =
        send(socket_.get(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
    if (bytes < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    sent_ += static_cast<std::size_t>(bytes);
    return Sends() || shutdown(socket_.get(), SHUT_WR) == 0;
  }

 private:
  [[nodiscard]] bool Sends() const { return sent_ < answer_.size(); }

  FileDescriptor socket_;
  std::int64_t until_ns_ = 0;  // it is closed then, whatever has come of it
  std::string request_, answer_;
  std::size_t sent_ = 0;
};

}  // namespace

struct PrometheusServer::Impl {
  std::function<std::string()> text;
  FileDescriptor listener;
  FileDescriptor ends, end;     // `ends` becomes readable once the thread shall end
  std::vector<Client> clients;  // the oldest first
  std::string url;
  std::thread thread;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (thread.joinable()) {
      static_cast<void>(end.Close());
      thread.join();
    }
  }

  void Accept() {
    FileDescriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool full =
        socket.get() < 0 ? errno == EMFILE || errno == ENFILE : clients.size() == kMaxClients;
    if (full && !clients.empty()) {
      clients.erase(clients.begin());
    } else if (full) {
      poll(nullptr, 0, 100);  // other files hold all descriptors
    }
    if (socket.get() >= 0) {
      clients.emplace_back(std::move(socket));
    }
  }

  void Serve() {
    for (;;) {
      std::vector<pollfd> awaited = {{.fd = ends.get(), .events = POLLIN},
                                     {.fd = listener.get(), .events = POLLIN}};
      for (const Client& client : clients) {
        awaited.push_back(client.Awaits());
      }
      const std::int64_t left_ns =
          clients.empty() ? kClientNs : clients.front().until_ns() - MonotonicNs();
      poll(awaited.data(), awaited.size(),
           static_cast<int>(std::max<std::int64_t>(0, left_ns / 1'000'000 + 1)));
      if (awaited[0].revents != 0) {
        return;
      }
      const std::int64_t now_ns = MonotonicNs();
      std::size_t i = 1;
      std::erase_if(clients, [&](Client& client) {
        return (awaited[++i].revents != 0 && !client.Go(text)) || client.until_ns() <= now_ns;
      });
      if (awaited[1].revents != 0) {
        Accept();
      }
    }
  }
};

PrometheusServer::PrometheusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PrometheusServer::~PrometheusServer() = default;

Result<std::unique_ptr<PrometheusServer>> PrometheusServer::Start(
    const std::string& where, std::function<std::string()> text) {
  REPRISE_ASSIGN(const Address address, ParseAddress(where));
  auto impl = std::make_unique<Impl>();
  impl->text = std::move(text);
  impl->listener = Listen(address);
  const std::optional<int> port = PortOf(impl->listener.get());
  if (!port) {
    return EnvironmentError(fmt::format(
        "--prometheus {}: cannot listen there: the port is taken or the address is not this host's",
        where));
  }
  std::array<int, 2> pipe = {-1, -1};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return EnvironmentError("--prometheus: no file descriptor is left for the server");
  }
  impl->ends = FileDescriptor(pipe[0]);
  impl->end = FileDescriptor(pipe[1]);
  const bool six = address.host.find(':') != std::string::npos;
  impl->url =
      fmt::format("http://{}:{}/metrics", six ? "[" + address.host + "]" : address.host, *port);
  impl->thread = std::thread([server = impl.get()] { server->Serve(); });
  return std::unique_ptr<PrometheusServer>(new PrometheusServer(std::move(impl)));
}

const std::string& PrometheusServer::url() const { return impl_->url; }

}  // namespace reprise
