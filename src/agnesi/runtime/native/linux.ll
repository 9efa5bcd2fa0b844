; What the runtime needs of Linux.

declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)

define internal ptr @system_alloc(i64 %size) nounwind {
  %result = alloca ptr
  %big = icmp uge i64 %size, 4194304
  %align = select i1 %big, i64 2097152, i64 64
  %failed = call i32 @posix_memalign(ptr %result, i64 %align, i64 %size)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %nothing, label %got
nothing:
  ret ptr null
got:
  %memory = load ptr, ptr %result
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

@own_key = internal global i32 -1             ; where each thread's own pointer is

define void @own_begin() nounwind {
  %key = load i32, ptr @own_key
  %new = icmp eq i32 %key, -1
  br i1 %new, label %make, label %done
make:
  %failed = call i32 @pthread_key_create(ptr @own_key, ptr @scratch_end)
  br label %done
done:
  ret void
}

; A thread's own pointer: null at first, and where there are no keys left.
define internal ptr @own() nounwind alwaysinline {
  %key = load i32, ptr @own_key
  %found = call ptr @pthread_getspecific(i32 %key)
  ret ptr %found
}

; Set it; returns whether that is possible.
define internal i1 @keep_own(ptr %pointer) nounwind alwaysinline {
  %key = load i32, ptr @own_key
  %failed = call i32 @pthread_setspecific(i32 %key, ptr %pointer)
  %good = icmp eq i32 %failed, 0
  ret i1 %good
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

@tids = internal global [512 x i32] zeroinitializer
@processors = internal global [512 x i32] zeroinitializer  ; where each worker worked last
@kept_off = internal global i32 -1  ; the processor that the workers were last kept off

; A worker tells that it is there, and at its end that it is not any more.
define internal void @enlist(i64 %id, i1 %here) nounwind {
  %told = call i64 (i64, ...) @syscall(i64 {gettid})
  %tid = trunc i64 %told to i32
  %entry = select i1 %here, i32 %tid, i32 0
  %at = getelementptr i32, ptr @tids, i64 %id
  store atomic i32 %entry, ptr %at seq_cst, align 4
  store atomic i32 -1, ptr @kept_off seq_cst, align 4
  ret void
}

; Note the processor of a worker that is about to work.
define internal void @note_processor(i64 %id) nounwind {
  %cpu = call i32 @sched_getcpu()
  %at = getelementptr i32, ptr @processors, i64 %id
  %before = load atomic i32, ptr %at monotonic, align 4
  %same = icmp eq i32 %before, %cpu
  br i1 %same, label %done, label %moved
moved:
  store atomic i32 %cpu, ptr %at monotonic, align 4
  br label %done
done:
  ret void
}

; Keep workers 1 to n - 1 off the caller's processor.  The kernel likes to wake a thread beside its
; waker, and moves the caller, too: the two then take turns there, several milliseconds long.
; Workers that sleep have none, others must move if one of them worked where the caller is now.
define internal void @keep_off(i64 %n, i1 %asleep) nounwind {
entry:
  %mask = alloca [128 x i8], align 8
  %cpu = call i32 @sched_getcpu()
  %small = icmp ult i32 %cpu, 1024
  br i1 %small, label %judge.by, label %done
judge.by:
  br i1 %asleep, label %sleepers, label %worker
sleepers:
  %before = load atomic i32, ptr @kept_off seq_cst, align 4
  %same = icmp eq i32 %before, %cpu
  br i1 %same, label %done, label %read
worker:
  %w = phi i64 [1, %judge.by], [%w1, %compare]
  %all = icmp uge i64 %w, %n
  br i1 %all, label %done, label %compare
compare:
  %processor.at = getelementptr i32, ptr @processors, i64 %w
  %where = load atomic i32, ptr %processor.at monotonic, align 4
  %w1 = add i64 %w, 1
  %meet = icmp eq i32 %where, %cpu
  br i1 %meet, label %read, label %worker
read:
  %size = call i64 (i64, ...) @syscall(i64 {getaffinity}, i32 0, i64 128, ptr %mask)
  %bad = icmp slt i64 %size, 8
  br i1 %bad, label %done, label %clear
clear:
  %wide = zext i32 %cpu to i64
  %byte = lshr i64 %wide, 3
  %low = and i64 %wide, 7
  %low8 = trunc i64 %low to i8
  %bit = shl i8 1, %low8
  %keep = xor i8 %bit, -1
  %byte.at = getelementptr i8, ptr %mask, i64 %byte
  %old = load i8, ptr %byte.at
  %new = and i8 %old, %keep
  store i8 %new, ptr %byte.at
  br label %look
look:
  ; Is any processor left?
  %b = phi i64 [0, %clear], [%b1, %look]
  %any = phi i8 [0, %clear], [%any1, %look]
  %at = getelementptr i8, ptr %mask, i64 %b
  %v = load i8, ptr %at
  %any1 = or i8 %any, %v
  %b1 = add i64 %b, 1
  %more = icmp ult i64 %b1, %size
  br i1 %more, label %look, label %judge
judge:
  %left = icmp ne i8 %any1, 0
  br i1 %left, label %each, label %done
each:
  %i = phi i64 [1, %judge], [%i1, %next]
  %over = icmp uge i64 %i, %n
  br i1 %over, label %note, label %one
one:
  %tid.at = getelementptr i32, ptr @tids, i64 %i
  %tid = load atomic i32, ptr %tid.at seq_cst, align 4
  %known = icmp ne i32 %tid, 0
  br i1 %known, label %move, label %next
move:
  %s = call i64 (i64, ...) @syscall(i64 {setaffinity}, i32 %tid, i64 %size, ptr %mask)
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %each
note:
  store atomic i32 %cpu, ptr @kept_off seq_cst, align 4
  br label %done
done:
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
  ret void
}
