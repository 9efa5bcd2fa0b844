; What the runtime needs of a POSIX system other than Linux: waiting goes through one condition.

@mutex = internal global [128 x i8] zeroinitializer, align 64
@condition = internal global [128 x i8] zeroinitializer, align 64

declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i64)
declare i32 @pthread_setspecific(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal ptr @system_alloc(i64 %size) nounwind {
  %memory.at = alloca ptr
  %failed = call i32 @posix_memalign(ptr %memory.at, i64 64, i64 %size)
  %bad = icmp ne i32 %failed, 0
  %memory = load ptr, ptr %memory.at
  %result = select i1 %bad, ptr null, ptr %memory
  ret ptr %result
}

define internal void @system_free(ptr %memory) nounwind {
  call void @free(ptr %memory)
  ret void
}

@own_key = internal global i64 -1             ; where each thread's own pointer is

define void @own_begin() nounwind {
  %key = load i64, ptr @own_key
  %new = icmp eq i64 %key, -1
  br i1 %new, label %make, label %done
make:
  %failed = call i32 @pthread_key_create(ptr @own_key, ptr @scratch_end)
  br label %done
done:
  ret void
}

; A thread's own pointer: null at first, and where there are no keys left.
define internal ptr @own() nounwind alwaysinline {
  %key = load i64, ptr @own_key
  %found = call ptr @pthread_getspecific(i64 %key)
  ret ptr %found
}

; Set it; returns whether that is possible.
define internal i1 @keep_own(ptr %pointer) nounwind alwaysinline {
  %key = load i64, ptr @own_key
  %failed = call i32 @pthread_setspecific(i64 %key, ptr %pointer)
  %good = icmp eq i32 %failed, 0
  ret i1 %good
}

define internal void @give_core() nounwind {
  %ignored = call i32 @sched_yield()
  ret void
}

define internal void @wait(ptr %word, i32 %value, i32 %mask) nounwind {
  %a = call i32 @pthread_mutex_lock(ptr @mutex)
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %block, label %leave
block:
  %b = call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %leave
leave:
  %c = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @wake(ptr %word, i32 %mask) nounwind {
  %a = call i32 @pthread_mutex_lock(ptr @mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @condition)
  %c = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

define internal void @enlist(i64 %id, i1 %here) nounwind {
  ret void
}

define internal void @note_processor(i64 %id) nounwind {
  ret void
}

define internal void @keep_off(i64 %n, i1 %asleep) nounwind {
  ret void
}

; Functions of users run there, too, and the smallest default of any system is half a megabyte.
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
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}
