; NumPy's library for matrix products, while threads of ours share a product: a call of it works in
; the thread that makes it.  How many threads it has counts for the whole process.  So they are taken
; from it by the first of ours that needs it so and given back by the last, product by product,
; unless somebody else has changed their number meanwhile.

@blas = global [2 x ptr] zeroinitializer, align 64  ; what tells the number of threads, and takes it
@blas_guard = internal global i32 0, align 64
@blas_holders = internal global i64 0
@blas_threads = internal global i64 0

define internal i32 @blas_told() nounwind {
  %tell = load ptr, ptr @blas
  %number = call i32 %tell()
  ret i32 %number
}

define internal void @blas_take(i64 %number) nounwind {
  %argument = alloca i64
  store i64 %number, ptr %argument
  %take.at = getelementptr ptr, ptr @blas, i64 1
  %take = load ptr, ptr %take.at
  call void %take(ptr %argument)
  ret void
}

define internal void @blas_lock() nounwind {
entry:
  br label %try
try:
  %pair = cmpxchg ptr @blas_guard, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %done, label %wait
wait:
  call void @relax()
  br label %try
done:
  ret void
}

; Whoever forks meanwhile gives the threads back in the child: there are holders as long as they are
; taken.
define void @blas_hold() nounwind {
entry:
  call void @blas_lock()
  %holders = load i64, ptr @blas_holders
  %more = add i64 %holders, 1
  %first = icmp eq i64 %holders, 0
  br i1 %first, label %take, label %count
take:
  %number = call i32 @blas_told()
  %wide = zext i32 %number to i64
  store atomic i64 %wide, ptr @blas_threads seq_cst, align 8
  store atomic i64 1, ptr @blas_holders seq_cst, align 8
  call void @blas_take(i64 1)
  br label %done
count:
  store atomic i64 %more, ptr @blas_holders seq_cst, align 8
  br label %done
done:
  store atomic i32 0, ptr @blas_guard release, align 4
  ret void
}

define void @blas_release() nounwind {
entry:
  call void @blas_lock()
  %holders = load i64, ptr @blas_holders
  %fewer = sub i64 %holders, 1
  %last = icmp eq i64 %fewer, 0
  br i1 %last, label %give, label %count
give:
  call void @blas_give()
  br label %count
count:
  store atomic i64 %fewer, ptr @blas_holders seq_cst, align 8
  store atomic i32 0, ptr @blas_guard release, align 4
  ret void
}

define internal void @blas_give() nounwind {
entry:
  %now = call i32 @blas_told()
  %ours = icmp eq i32 %now, 1
  br i1 %ours, label %give, label %done
give:
  %number = load i64, ptr @blas_threads
  call void @blas_take(i64 %number)
  br label %done
done:
  ret void
}

; In the child of a fork: whoever held the library is not there.
define void @blas_reset() nounwind {
entry:
  %holders = load i64, ptr @blas_holders
  %none = icmp eq i64 %holders, 0
  br i1 %none, label %done, label %give
give:
  call void @blas_give()
  store i64 0, ptr @blas_holders
  br label %done
done:
  store i32 0, ptr @blas_guard
  ret void
}
