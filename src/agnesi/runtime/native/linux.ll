; What the runtime needs of Linux.

declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)

define internal ptr @system_alloc(i64 %size) nounwind {
  %place = alloca ptr
  %big = icmp uge i64 %size, 4194304
  %align = select i1 %big, i64 2097152, i64 64
  %failed = call i32 @posix_memalign(ptr %place, i64 %align, i64 %size)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %nothing, label %got
nothing:
  ret ptr null
got:
  %memory = load ptr, ptr %place
  br i1 %big, label %huge, label %done
huge:
  ; MADV_HUGEPAGE; a kernel without it changes nothing.
  %advised = call i32 @madvise(ptr %memory, i64 %size, i32 14)
  br label %done
done:
  ret ptr %memory
}

define internal void @system_free(ptr %memory) nounwind {
  call void @free(ptr %memory)
  ret void
}

define internal void @give_core() nounwind {
  %ignored = call i32 @sched_yield()
  ret void
}

; FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET, private to the process.
define internal void @wait(ptr %word, i32 %value, i32 %mask) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 137, i32 %value, ptr null, ptr null, i32 %mask)
  ret void
}

define internal void @wake(ptr %word, i32 %mask) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 138, i32 2147483647, ptr null, ptr null, i32 %mask)
  ret void
}

; Kernels keep their scratch on the stack; the smallest default of any system is half a megabyte.
define internal i32 @spawn(ptr %handle, ptr %start, ptr %argument) nounwind {
  %attributes = alloca [128 x i8], align 16
  %a = call i32 @pthread_attr_init(ptr %attributes)
  %b = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 16777216)
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr %start, ptr %argument)
  %c = call i32 @pthread_attr_destroy(ptr %attributes)
  ret i32 %failed
}

define internal void @await(ptr %handle) nounwind {
  %thread = load i64, ptr %handle
  %ignored = call i32 @pthread_join(i64 %thread, ptr null)
  ret void
}

define void @platform_reset() nounwind {
  ret void
}
